// SPDX-License-Identifier: MIT
#include "scenarios/engine/scenario_file.h"

#include <algorithm>
#include <filesystem>

#include "scenarios/engine/build_info.h"
#include "scenarios/engine/scenario_reader.h"

namespace rnicsim {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

ConfigError unknown_scenario(const std::string& name, const std::vector<std::string>& known) {
  ConfigError::Detail detail;
  detail.found = "no scenario " + in_quotes(name);
  detail.nearest = nearest_of(name, known);
  return ConfigError(std::move(detail));
}

template <class Spec>
bool has(const std::vector<Spec>& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const Spec& s) { return s.name == name; });
}

/// A variant or an ablation of the scenario itself, or that.
ScenarioSelection selection_of(const std::string& name, const Scenario& base) {
  ScenarioSelection selection;
  if (has(base.ablate, name))
    selection.ablation = name;
  else if (name != kBaseVariant || has(base.variants, name))
    selection.variant = name;
  return selection;
}

}  // namespace

DataFolder DataFolder::of_this_program() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  fs::path installed = program.parent_path() / build_info().installed_scenarios;
  if (!program.empty() && fs::is_directory(installed, ignored))
    return DataFolder(installed.lexically_normal().string());
  return DataFolder(build_info().source_scenarios);
}

std::vector<std::string> DataFolder::names(const std::string& below) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(scenarios_) / below, ignored))
    if (entry.path().extension() == ".json" && is_file(entry.path()))
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string DataFolder::find(const std::string& name) const {
  const bool is_path = name.find('/') != std::string::npos || fs::path(name).extension() == ".json";
  if (is_file(name)) return name;
  const fs::path folder(scenarios_);
  for (const fs::path& place : {folder, folder / "validation"}) {
    if (is_file(place / name)) return (place / name).string();
    if (is_file(place / (name + ".json"))) return (place / (name + ".json")).string();
  }
  if (is_file(name + ".json")) return name + ".json";
  if (is_path) return name;  // reading it says what is wrong with it
  std::vector<std::string> known = names();
  const std::vector<std::string> validations = names("validation");
  known.insert(known.end(), validations.begin(), validations.end());
  throw unknown_scenario(name, known);
}

PresetDirectories DataFolder::presets_for(const std::string& scenario_file) const {
  const fs::path beside = fs::path(scenario_file).parent_path() / "presets";
  return PresetDirectories({beside.string(), (fs::path(scenarios_) / "presets").string()});
}

ScenarioFile load_scenario(const std::string& file, const RunSelection& selection,
                           PresetSource& presets) {
  ScenarioFile loaded;
  loaded.name = fs::path(file).stem().string();
  loaded.document = read_json_file(file);
  loaded.base = read_scenario(loaded.document, {"", selection.sets}, presets);
  const auto run = [&](ScenarioSelection which) {
    if (which.variant.empty() && which.ablation.empty()) return loaded.base;
    which.sets = selection.sets;
    return read_scenario(loaded.document, which, presets);
  };
  if (selection.variants.empty()) {
    loaded.runs.push_back(loaded.base);
    for (const VariantSpec& variant : loaded.base.variants)
      loaded.runs.push_back(run({variant.name, {}}));
  }
  for (const std::string& selected : selection.variants) {
    const ScenarioSelection which = selection_of(selected, loaded.base);
    loaded.runs.push_back(run(which));
    if (!which.ablation.empty()) loaded.runs.back().variant = which.ablation;
  }
  if (!selection.ablations) return loaded;
  for (const AblationSpec& ablation : loaded.base.ablate) {
    AblatedRuns& ablated = loaded.ablations.emplace_back();
    ablated.spec = ablation;
    for (const std::string& variant : loaded.base.variants_for(ablation))
      ablated.runs.push_back(run({variant, {}, ablation.name}));
  }
  return loaded;
}

}  // namespace rnicsim
