// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "model/config_output.h"
#include "tools/export/preset_sources.h"
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

bool is_calibrated(const std::string& source) { return source.rfind("calibrated", 0) == 0; }

void print(const Found& found) {
  std::cout << name_of(found.kind) << '/' << found.name << ": " << found.preset->title << '\n';
  const std::vector<ConfigEntry> entries = preset_entries(found.kind, *found.preset);
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
