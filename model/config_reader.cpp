// SPDX-License-Identifier: MIT
#include "model/config_reader.h"

#include <algorithm>

#include "model/json_document.h"

namespace rnicsim {
namespace {

/// Collects the keys that a struct knows, so that a misspelt one is reported as that before
/// anything that follows from it (a required field missing, a check failing).
class KeyCollector final : public Fields {
 public:
  std::vector<std::string> keys;

 private:
  void on_scalar(const FieldInfo& info, ScalarRef /*value*/) override { add(info); }
  void on_choice(const FieldInfo& info, const std::vector<std::string>& /*texts*/,
                 std::size_t& /*index*/) override {
    add(info);
  }
  void on_object(const FieldInfo& info, ConfigRef /*config*/) override { add(info); }
  void on_list(const FieldInfo& info, const ListLimits& limits, ContainerRef& /*values*/) override {
    add(info);
    if (limits.single != nullptr) keys.emplace_back(limits.single);
  }
  void on_optional(const FieldInfo& info, ContainerRef& /*value*/) override { add(info); }
  void on_any(const FieldInfo& info, const std::vector<std::string>& /*types*/,
              AnyJson& /*value*/) override {
    add(info);
  }
  void on_violation(const char* /*name*/, const std::string& /*problem*/) override {}

  void add(const FieldInfo& info) { keys.emplace_back(info.name); }
};

const char* schema_type(const JsonNode& node) {
  switch (node.type()) {
    case JsonNode::Type::kNull:
      return "null";
    case JsonNode::Type::kBool:
      return "boolean";
    case JsonNode::Type::kNumber:
      return "number";
    case JsonNode::Type::kString:
      return "string";
    case JsonNode::Type::kArray:
      return "array";
    case JsonNode::Type::kObject:
      break;
  }
  return "object";
}

class Reader final : public Fields {
 public:
  Reader(const JsonNode& node, const std::string& path) : node_(node), path_(path) {}

  static void read(const JsonNode& node, ConfigRef config, const std::string& path) {
    if (!node.is_object()) throw error_at(node, path, "an object", node.found_text());
    check_keys(node, config, path);
    Reader reader(node, path);
    config.describe(reader);
  }

 private:
  static void check_keys(const JsonNode& node, ConfigRef config, const std::string& path) {
    KeyCollector known;
    config.describe(known);
    for (const JsonNode& member : node.children()) {
      if (std::find(known.keys.begin(), known.keys.end(), member.key()) != known.keys.end())
        continue;
      ConfigError::Detail detail;
      detail.file = member.file();
      detail.line = member.line();
      detail.path = join_path(path, member.key());
      detail.found = "unknown key";
      detail.nearest = nearest_of(member.key(), known.keys);
      if (detail.nearest.empty()) detail.found += "; known here: " + one_of_text(known.keys);
      throw ConfigError(std::move(detail));
    }
  }

  static void read_element(const JsonNode& node, const std::string& path,
                           const ScalarLimits& limits, ElementRef element) {
    if (const auto* scalar = std::get_if<ScalarRef>(&element))
      read_scalar(node, path, limits, *scalar);
    else
      read(node, std::get<ConfigRef>(element), path);
  }

  std::string path_of(const char* name) const { return join_path(path_, name); }

  /// The member, or null if it may be left out and is.
  const JsonNode* find(const FieldInfo& info) const {
    const JsonNode* member = node_.find(info.name);
    if (member == nullptr && info.required) {
      throw error_at(node_, path_of(info.name), "",
                     std::string("missing; it must be given (") + info.doc + ")");
    }
    return member;
  }

  void on_scalar(const FieldInfo& info, ScalarRef value) override {
    if (const JsonNode* member = find(info))
      read_scalar(*member, path_of(info.name), info.limits, value);
  }

  void on_choice(const FieldInfo& info, const std::vector<std::string>& texts,
                 std::size_t& index) override {
    const JsonNode* member = find(info);
    if (member == nullptr) return;
    const auto it =
        member->is_string() ? std::find(texts.begin(), texts.end(), member->text()) : texts.end();
    if (it == texts.end()) {
      ConfigError::Detail detail;
      detail.file = member->file();
      detail.line = member->line();
      detail.path = path_of(info.name);
      std::vector<std::string> in_quotation;
      in_quotation.reserve(texts.size());
      for (const std::string& text : texts) in_quotation.push_back(in_quotes(text));
      detail.expected = one_of_text(in_quotation);
      detail.found = member->found_text();
      if (member->is_string()) detail.nearest = nearest_of(member->text(), texts);
      throw ConfigError(std::move(detail));
    }
    index = static_cast<std::size_t>(it - texts.begin());
  }

  void on_object(const FieldInfo& info, ConfigRef config) override {
    if (const JsonNode* member = find(info)) read(*member, config, path_of(info.name));
  }

  void on_list(const FieldInfo& info, const ListLimits& limits, ContainerRef& values) override {
    if (limits.single != nullptr && node_.find(limits.single) != nullptr) {
      const JsonNode& single = *node_.find(limits.single);
      if (node_.find(info.name) != nullptr)
        throw error_at(single, path_of(limits.single), "",
                       "given together with " + in_quotes(info.name) + ", of which it is short");
      values.resize(1);
      read_element(single, path_of(limits.single), info.limits, values.at(0));
      return;
    }
    const JsonNode* member = find(info);
    if (member == nullptr) return;
    const std::string path = path_of(info.name);
    if (!member->is_array()) throw error_at(*member, path, "a list", member->found_text());
    const std::size_t size = member->children().size();
    if (size < limits.min || size > limits.max) {
      throw error_at(*member, path,
                     limits.min == limits.max ? "a list of exactly " + std::to_string(limits.min)
                                              : "a list of " + std::to_string(limits.min) + " to " +
                                                    std::to_string(limits.max),
                     std::to_string(size));
    }
    values.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const JsonNode& element = member->children()[i];
      read_element(element, join_path(path, std::to_string(i)), info.limits, values.at(i));
    }
  }

  void on_optional(const FieldInfo& info, ContainerRef& value) override {
    const JsonNode* member = find(info);
    if (member == nullptr) return;
    value.resize(1);
    read_element(*member, path_of(info.name), info.limits, value.at(0));
  }

  void on_any(const FieldInfo& info, const std::vector<std::string>& types,
              AnyJson& value) override {
    const JsonNode* member = find(info);
    if (member == nullptr) return;
    if (std::find(types.begin(), types.end(), schema_type(*member)) == types.end())
      throw error_at(*member, path_of(info.name), "a value of type " + one_of_text(types),
                     member->found_text());
    value = std::make_shared<const JsonNode>(*member);
  }

  void on_violation(const char* name, const std::string& problem) override {
    const JsonNode* member = node_.find(name);
    throw error_at(member != nullptr ? *member : node_, path_of(name), "", problem);
  }

  const JsonNode& node_;
  const std::string& path_;
};

}  // namespace

void Fields::identifier(const char* name, std::string& value, const char* doc) {
  ScalarLimits limits;
  limits.identifier = true;
  on_scalar(info(name, doc, std::move(limits)), &value);
}

void Fields::optional_identifier(const char* name, std::optional<std::string>& value,
                                 const char* doc) {
  ScalarLimits limits;
  limits.identifier = true;
  OptionalRef<std::string> container(value);
  on_optional(info(name, doc, std::move(limits)), container);
}

void read_config(const JsonNode& node, ConfigRef config, const std::string& path) {
  Reader::read(node, config, path);
}

}  // namespace rnicsim
