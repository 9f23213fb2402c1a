// SPDX-License-Identifier: MIT
#include "scenarios/engine/presets.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "fabric/link_config.h"
#include "fabric/switch_config.h"
#include "host/host_config.h"
#include "model/config_output.h"
#include "model/json_path.h"
#include "nic/dma_exerciser.h"
#include "nic/nic_config.h"

namespace rnicsim {
namespace {

/// Calls `use` with a default configuration of the kind.
template <class Use>
void with_config(PresetKind kind, Use use) {
  switch (kind) {
    case PresetKind::kHost: {
      HostConfig config;
      use(ConfigRef(config));
      return;
    }
    case PresetKind::kNic: {
      NicConfig config;
      use(ConfigRef(config));
      return;
    }
    case PresetKind::kSwitch: {
      SwitchConfig config;
      use(ConfigRef(config));
      return;
    }
    case PresetKind::kCongestionControl: {
      CongestionControlConfig config;
      use(ConfigRef(config));
      return;
    }
    case PresetKind::kExerciser: {
      DmaExerciserConfig config;
      use(ConfigRef(config));
      return;
    }
    case PresetKind::kLink:
      break;
  }
  LinkConfig config;
  use(ConfigRef(config));
}

/// A source names a value that the preset has, or an object of them.
void check_sources(const JsonNode& sources, const JsonNode& values) {
  for (const JsonNode& source : sources.children()) {
    // The key has dots of its own: it stands in quotes behind the path.
    const std::string path = "sources." + in_quotes(source.key());
    if (!source.is_string()) throw error_at(source, path, "a string", source.found_text());
    if (!has_node(values, source.key()))
      throw error_at(source, path, "", "no such path in \"values\"");
  }
}

/// Keeps what the base says of the value at `path`: of an object of which `given` gives a part
/// anew, for each of the other values in it that have no source of their own.
void keep_source(const std::string& path, const JsonNode& source, const JsonNode& value,
                 const JsonNode* given, const JsonNode& base_sources, JsonNode& sources) {
  if (given == nullptr) {
    sources.set(path, source);
    return;
  }
  if (!value.is_object() || !given->is_object()) return;
  for (const JsonNode& member : value.children()) {
    const std::string below = path + '.' + member.key();
    if (base_sources.find(below) == nullptr)
      keep_source(below, source, member, given->find(member.key()), base_sources, sources);
  }
}

/// The base's sources, without those of values that `values` gives anew, and `own` after them.
JsonNode merged_sources(const Preset& base, const JsonNode& values, const JsonNode& own) {
  JsonNode sources = JsonNode::object();
  for (const JsonNode& source : base.sources->children()) {
    const std::string& path = source.key();
    const JsonNode* given = has_node(values, path) ? &nearest_node(values, path) : nullptr;
    keep_source(path, source, nearest_node(*base.values, path), given, *base.sources, sources);
  }
  for (const JsonNode& source : own.children()) sources.set(source.key(), source);
  return sources;
}

/// Names come from scenario files; they must not lead out of the folder.
bool is_file_name(const std::string& name) {
  return !name.empty() && name[0] != '.' &&
         name.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
}

}  // namespace

const char* name_of(PresetKind kind) {
  switch (kind) {
    case PresetKind::kHost:
      return "host";
    case PresetKind::kNic:
      return "nic";
    case PresetKind::kSwitch:
      return "switch";
    case PresetKind::kCongestionControl:
      return "congestion_control";
    case PresetKind::kExerciser:
      return "exerciser";
    case PresetKind::kLink:
      break;
  }
  return "link";
}

void Preset::describe(Fields& f) {
  f.required().field("title", title, "what it is, in one line");
  f.optional("base", base, "name of a preset of its kind that this is merged over");
  f.required().any("values", values, {"object"}, "as in a scenario");
  f.required().any("sources", sources, {"object"},
                   "path in values -> where the number is published, or that it is an assumption");
}

ConfigError unknown_preset(const JsonNode& name, const std::string& path, PresetKind kind,
                           const std::vector<std::string>& known) {
  ConfigError::Detail detail;
  detail.file = name.file();
  detail.line = name.line();
  detail.path = path;
  detail.found = "unknown " + std::string(name_of(kind)) + " preset " + in_quotes(name.text());
  detail.nearest = nearest_of(name.text(), known);
  if (detail.nearest.empty() && !known.empty()) detail.found += "; known: " + one_of_text(known);
  return ConfigError(std::move(detail));
}

Preset PresetSource::read(const JsonNode& file, PresetKind kind, std::vector<std::string>& chain) {
  Preset preset;
  read_config(file, preset);
  check_sources(*preset.sources, *preset.values);
  if (preset.base) {
    const JsonNode& name = *file.find("base");
    if (std::find(chain.begin(), chain.end(), *preset.base) != chain.end())
      throw error_at(name, "base", "", "leads back to " + in_quotes(*preset.base));
    const std::optional<JsonNode> below = document(kind, *preset.base);
    if (!below) throw unknown_preset(name, "base", kind, names(kind));
    chain.push_back(*preset.base);
    const Preset base = read(*below, kind, chain);
    JsonNode values = *base.values;
    merge_patch(values, *preset.values);
    preset.sources =
        std::make_shared<const JsonNode>(merged_sources(base, *preset.values, *preset.sources));
    preset.values = std::make_shared<const JsonNode>(std::move(values));
  }
  with_config(kind, [&](ConfigRef config) { read_config(*preset.values, config, "values"); });
  return preset;
}

std::shared_ptr<const Preset> PresetSource::find(PresetKind kind, const std::string& name) {
  const std::optional<JsonNode> file = document(kind, name);
  if (!file) return nullptr;
  std::vector<std::string> chain{name};
  return std::make_shared<const Preset>(read(*file, kind, chain));
}

JsonNode preset_schema(PresetKind kind) {
  Preset preset;
  JsonNode schema = config_schema(preset);
  JsonNode& properties = *schema.find("properties");
  with_config(kind, [&](ConfigRef config) { properties.set("values", config_schema(config)); });
  JsonNode text = JsonNode::object();
  text.set("type", JsonNode::string("string"));
  properties.find("sources")->set("additionalProperties", std::move(text));
  return schema;
}

std::optional<JsonNode> PresetDirectories::document(PresetKind kind, const std::string& name) {
  if (!is_file_name(name)) return std::nullopt;
  for (const std::string& directory : directories_) {
    const std::filesystem::path file =
        std::filesystem::path(directory) / name_of(kind) / (name + ".json");
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) return read_json_file(file.string());
  }
  return std::nullopt;
}

std::vector<std::string> PresetDirectories::names(PresetKind kind) {
  std::set<std::string> names;
  for (const std::string& directory : directories_) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(directory) / name_of(kind);
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

}  // namespace rnicsim
