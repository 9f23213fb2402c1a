// SPDX-License-Identifier: MIT
#include "tools/export/preset_sources.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

namespace rnicsim {
namespace {

template <class Config>
std::vector<ConfigEntry> entries_of(const Preset& preset) {
  Config config;
  read_config(*preset.values, config, "values");
  return list_config(config);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Of the object at `path` in a scenario: "hosts.0", "hosts.0.nics.1", "fabric.link".
std::optional<PresetKind> kind_at(const std::string& path) {
  if (ends_with(path, ".congestion_control")) return PresetKind::kCongestionControl;
  if (ends_with(path, ".exerciser")) return PresetKind::kExerciser;
  if (path.rfind("fabric.switch", 0) == 0) return PresetKind::kSwitch;
  if (path.rfind("fabric.", 0) == 0) return PresetKind::kLink;
  if (path.rfind("hosts.", 0) != 0) return std::nullopt;
  return path.find(".nic") != std::string::npos ? PresetKind::kNic : PresetKind::kHost;
}

/// A preset that the scenario names, with its values by path.
struct Used {
  std::string name;
  std::shared_ptr<const Preset> preset;
  std::map<std::string, std::string> values;
};

std::string text_of(const ConfigEntry& entry) {
  return fmt::format("{} {}", entry.value, entry.unit);
}

/// By the path of the object that names it.
std::map<std::string, Used> presets_in(const std::vector<ConfigEntry>& entries,
                                       PresetSource& presets) {
  std::map<std::string, Used> used;
  for (const ConfigEntry& entry : entries) {
    if (!ends_with(entry.path, ".preset")) continue;
    const std::string place = entry.path.substr(0, entry.path.size() - 7);
    const std::optional<PresetKind> kind = kind_at(place);
    if (!kind) continue;
    Used found{
        fmt::format("{}/{}", name_of(*kind), entry.value), presets.find(*kind, entry.value), {}};
    if (found.preset == nullptr) continue;
    for (const ConfigEntry& value : preset_entries(*kind, *found.preset))
      found.values[value.path] = text_of(value);
    used[place] = std::move(found);
  }
  return used;
}

/// Of the nearest object around the path that names a preset; empty if that did not give the value.
std::string source_in(const std::map<std::string, Used>& used, const ConfigEntry& entry) {
  std::string place = entry.path;
  for (std::size_t dot = place.rfind('.'); dot != std::string::npos; dot = place.rfind('.')) {
    place.resize(dot);
    const auto found = used.find(place);
    if (found == used.end()) continue;
    const std::string path = entry.path.substr(dot + 1);
    const auto value = found->second.values.find(path);
    if (value == found->second.values.end() || value->second != text_of(entry)) break;
    return fmt::format("{}: {}", found->second.name, source_of(*found->second.preset, path));
  }
  return {};
}

bool is_of_the_run(const std::string& path) {
  for (const char* other : {"variants", "expect", "ablate", "compare"})
    if (path.rfind(other, 0) == 0) return false;
  return true;
}

}  // namespace

std::vector<ConfigEntry> preset_entries(PresetKind kind, const Preset& preset) {
  switch (kind) {
    case PresetKind::kHost:
      return entries_of<HostConfig>(preset);
    case PresetKind::kNic:
      return entries_of<NicConfig>(preset);
    case PresetKind::kSwitch:
      return entries_of<SwitchConfig>(preset);
    case PresetKind::kCongestionControl:
      return entries_of<CongestionControlConfig>(preset);
    case PresetKind::kExerciser:
      return entries_of<DmaExerciserConfig>(preset);
    case PresetKind::kLink:
      break;
  }
  return entries_of<LinkConfig>(preset);
}

std::string source_of(const Preset& preset, std::string path) {
  for (;;) {
    if (const JsonNode* source = preset.sources->find(path)) return source->text();
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return "default: no source given";
    path.resize(dot);
  }
}

std::vector<SourcedEntry> sourced_configuration(const Scenario& setup, PresetSource& presets) {
  Scenario copy = setup;  // describing wants to be able to write
  const std::vector<ConfigEntry> entries = list_config(copy);
  const std::map<std::string, Used> used = presets_in(entries, presets);
  std::vector<SourcedEntry> all;
  for (const ConfigEntry& entry : entries)
    if (is_of_the_run(entry.path)) all.push_back({entry, source_in(used, entry)});
  return all;
}

}  // namespace rnicsim
