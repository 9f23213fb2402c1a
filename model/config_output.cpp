// SPDX-License-Identifier: MIT
#include "model/config_output.h"

namespace rnicsim {
namespace {

class Dumper final : public Fields {
 public:
  Dumper(std::string path, std::vector<ConfigEntry>& entries)
      : path_(std::move(path)), entries_(entries) {}

  static JsonNode dump(ConfigRef config, const std::string& path,
                       std::vector<ConfigEntry>& entries) {
    Dumper dumper(path, entries);
    config.describe(dumper);
    return std::move(dumper.out_);
  }

 private:
  void on_scalar(const FieldInfo& info, ScalarRef value) override {
    add(info, join_path(path_, info.name), scalar_to_json(value), limits_text(info.limits),
        is_quantity(value));
  }

  void on_choice(const FieldInfo& info, const std::vector<std::string>& texts,
                 std::size_t& index) override {
    add(info, join_path(path_, info.name), JsonNode::string(texts[index]), one_of_text(texts));
  }

  void on_object(const FieldInfo& info, ConfigRef config) override {
    out_.set(info.name, dump(config, join_path(path_, info.name), entries_));
  }

  void on_list(const FieldInfo& info, const ListLimits& /*limits*/, ContainerRef& values) override {
    JsonNode list = JsonNode::array();
    const std::string path = join_path(path_, info.name);
    for (std::size_t i = 0; i < values.size(); ++i)
      list.append(element(info, join_path(path, std::to_string(i)), values.at(i)));
    out_.set(info.name, std::move(list));
  }

  void on_optional(const FieldInfo& info, ContainerRef& value) override {
    if (value.size() == 0) return;
    out_.set(info.name, element(info, join_path(path_, info.name), value.at(0)));
  }

  void on_any(const FieldInfo& info, const std::vector<std::string>& /*types*/,
              AnyJson& value) override {
    if (value == nullptr) return;
    if (value->is_object() || value->is_array())
      out_.set(info.name, *value);
    else
      add(info, join_path(path_, info.name), *value, "");
  }

  void on_violation(const char* /*name*/, const std::string& /*problem*/) override {}

  JsonNode element(const FieldInfo& info, const std::string& path, ElementRef element) {
    if (const auto* config = std::get_if<ConfigRef>(&element)) return dump(*config, path, entries_);
    const ScalarRef scalar = std::get<ScalarRef>(element);
    JsonNode value = scalar_to_json(scalar);
    list_entry(info, path, value, limits_text(info.limits), is_quantity(scalar));
    return value;
  }

  void add(const FieldInfo& info, const std::string& path, const JsonNode& value,
           const std::string& limits, bool quantity = false) {
    list_entry(info, path, value, limits, quantity);
    out_.set(info.name, value);
  }

  void list_entry(const FieldInfo& info, const std::string& path, const JsonNode& value,
                  const std::string& limits, bool quantity) {
    ConfigEntry entry{path, value.text(), "", limits, info.doc};
    if (quantity) {
      const std::size_t blank = entry.value.find(' ');
      entry.unit = entry.value.substr(blank + 1);
      entry.value.resize(blank);
    }
    entries_.push_back(std::move(entry));
  }

  JsonNode out_ = JsonNode::object();
  std::string path_;
  std::vector<ConfigEntry>& entries_;
};

class SchemaWriter final : public Fields {
 public:
  static JsonNode schema_of(ConfigRef config) {
    SchemaWriter writer;
    config.describe(writer);
    JsonNode schema = JsonNode::object();
    schema.set("type", JsonNode::string("object"));
    schema.set("additionalProperties", JsonNode::boolean(false));
    if (!writer.required_keys_.children().empty())
      schema.set("required", std::move(writer.required_keys_));
    writer.properties_.set("$comment", JsonNode::boolean(true));
    schema.set("properties", std::move(writer.properties_));
    return schema;
  }

 private:
  static JsonNode described(const FieldInfo& info) {
    JsonNode schema = JsonNode::object();
    std::string text = info.doc;
    const std::string limits = limits_text(info.limits);
    if (!limits.empty()) text += " (" + limits + ")";
    schema.set("description", JsonNode::string(std::move(text)));
    return schema;
  }

  static JsonNode element_schema(const FieldInfo& info, ElementRef element) {
    JsonNode schema = described(info);
    if (const auto* scalar = std::get_if<ScalarRef>(&element)) {
      scalar_schema(*scalar, info.limits, schema);
      return schema;
    }
    const JsonNode object = schema_of(std::get<ConfigRef>(element));
    for (const JsonNode& member : object.children()) schema.set(member.key(), member);
    return schema;
  }

  void on_scalar(const FieldInfo& info, ScalarRef value) override {
    JsonNode schema = element_schema(info, value);
    if (!info.required) schema.set("default", scalar_to_json(value));
    add(info, std::move(schema));
  }

  void on_choice(const FieldInfo& info, const std::vector<std::string>& texts,
                 std::size_t& index) override {
    JsonNode schema = described(info);
    JsonNode& values = schema.set("enum", JsonNode::array());
    for (const std::string& text : texts) values.append(JsonNode::string(text));
    if (!info.required) schema.set("default", JsonNode::string(texts[index]));
    add(info, std::move(schema));
  }

  void on_object(const FieldInfo& info, ConfigRef config) override {
    add(info, element_schema(info, config));
  }

  void on_list(const FieldInfo& info, const ListLimits& limits, ContainerRef& values) override {
    JsonNode items = element_schema(info, values.sample());
    if (limits.single != nullptr) properties_.set(limits.single, items);
    items.erase("description");
    JsonNode schema = described(info);
    schema.set("type", JsonNode::string("array"));
    schema.set("minItems", JsonNode::number(limits.min));
    schema.set("maxItems", JsonNode::number(limits.max));
    schema.set("items", std::move(items));
    add(info, std::move(schema));
  }

  void on_optional(const FieldInfo& info, ContainerRef& value) override {
    add(info, element_schema(info, value.sample()));
  }

  void on_any(const FieldInfo& info, const std::vector<std::string>& types,
              AnyJson& /*value*/) override {
    JsonNode schema = described(info);
    JsonNode& allowed = schema.set("type", JsonNode::array());
    for (const std::string& type : types) allowed.append(JsonNode::string(type));
    add(info, std::move(schema));
  }

  void on_violation(const char* /*name*/, const std::string& /*problem*/) override {}

  void add(const FieldInfo& info, JsonNode schema) {
    if (info.required) required_keys_.append(JsonNode::string(info.name));
    properties_.set(info.name, std::move(schema));
  }

  JsonNode properties_ = JsonNode::object();
  JsonNode required_keys_ = JsonNode::array();
};

}  // namespace

JsonNode dump_config(ConfigRef config) {
  std::vector<ConfigEntry> entries;
  return Dumper::dump(config, {}, entries);
}

std::vector<ConfigEntry> list_config(ConfigRef config, const std::string& path) {
  std::vector<ConfigEntry> entries;
  Dumper::dump(config, path, entries);
  return entries;
}

JsonNode config_schema(ConfigRef config) { return SchemaWriter::schema_of(config); }

}  // namespace rnicsim
