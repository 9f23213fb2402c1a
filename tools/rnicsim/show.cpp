// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "model/config_output.h"
#include "scenarios/engine/scenario.h"
#include "tools/rnicsim/commands.h"

namespace rnicsim {
namespace {

constexpr CommandText kText = {
    "show PRESET",
    "Shows every value of a preset (rnicsim list presets) with its unit and where it comes from;\n"
    "* marks one that was calibrated: set so that a measurement comes out.\n"
    "PRESET is a name, or KIND/NAME where presets of several kinds share the name."};

struct Found {
  PresetKind kind;
  std::string name;
  std::shared_ptr<const Preset> preset;
};

ConfigError unknown_preset(const std::string& name, PresetSource& source) {
  std::vector<std::string> known;
  for (const PresetKind kind : kPresetKinds)
    for (const std::string& preset : source.names(kind)) {
      known.push_back(preset);
      known.push_back(std::string(name_of(kind)) + "/" + preset);
    }
  ConfigError::Detail detail;
  detail.found = "no preset " + in_quotes(name);
  detail.nearest = nearest_of(name, known);
  return ConfigError(std::move(detail));
}

std::vector<Found> find_presets(const std::string& wanted, PresetSource& source) {
  std::vector<Found> found;
  for (const PresetKind kind : kPresetKinds) {
    const std::string folder = std::string(name_of(kind)) + "/";
    const bool named = wanted.rfind(folder, 0) == 0;
    const std::string name = named ? wanted.substr(folder.size()) : wanted;
    if (auto preset = source.find(kind, name)) found.push_back({kind, name, std::move(preset)});
  }
  if (found.empty()) throw unknown_preset(wanted, source);
  return found;
}

template <class Config>
std::vector<ConfigEntry> entries_of(const Preset& preset) {
  Config config;
  read_config(*preset.values, config, "values");
  return list_config(config);
}

std::vector<ConfigEntry> entries_of(const Found& found) {
  switch (found.kind) {
    case PresetKind::kHost:
      return entries_of<HostConfig>(*found.preset);
    case PresetKind::kNic:
      return entries_of<NicConfig>(*found.preset);
    case PresetKind::kSwitch:
      return entries_of<SwitchConfig>(*found.preset);
    case PresetKind::kCongestionControl:
      return entries_of<CongestionControlConfig>(*found.preset);
    case PresetKind::kExerciser:
      return entries_of<DmaExerciserConfig>(*found.preset);
    case PresetKind::kLink:
      break;
  }
  return entries_of<LinkConfig>(*found.preset);
}

/// The source of the path itself, or of the object that it is in.
std::string source_of(const Preset& preset, std::string path) {
  for (;;) {
    if (const JsonNode* source = preset.sources->find(path)) return source->text();
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return "default: no source given";
    path.resize(dot);
  }
}

bool is_calibrated(const std::string& source) { return source.rfind("calibrated", 0) == 0; }

void print(const Found& found) {
  std::cout << name_of(found.kind) << '/' << found.name << ": " << found.preset->title << '\n';
  const std::vector<ConfigEntry> entries = entries_of(found);
  std::size_t path = 0;
  std::size_t value = 0;
  for (const ConfigEntry& entry : entries) {
    path = std::max(path, entry.path.size());
    value = std::max(value, entry.value.size());
  }
  std::size_t calibrated = 0;
  for (const ConfigEntry& entry : entries) {
    const std::string source = source_of(*found.preset, entry.path);
    const bool mark = is_calibrated(source);
    calibrated += mark ? 1 : 0;
    std::cout << fmt::format("{} {:<{}}  {:>{}} {:<6}  {}\n", mark ? '*' : ' ', entry.path, path,
                             entry.value, value, entry.unit, source);
  }
  std::cout << fmt::format("{} of {} values calibrated\n", calibrated, entries.size());
}

}  // namespace

int show_command(const Arguments& arguments) {
  const auto values = parse_options(kText, OptionList(), "PRESET", arguments);
  if (!values) return kExitGood;
  const std::vector<std::string> names = strings_of(*values, "PRESET");
  if (names.size() != 1) throw UsageError("expected one preset");
  PresetDirectories source = DataFolder::of_this_program().presets_for("");
  for (const Found& found : find_presets(names[0], source)) print(found);
  return kExitGood;
}

}  // namespace rnicsim
