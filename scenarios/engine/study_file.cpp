// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "model/config_output.h"
#include "scenarios/engine/comparison_value.h"
#include "scenarios/engine/content_hash.h"
#include "scenarios/engine/scenario_checks.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/study_expression.h"

namespace rnicsim {
namespace {

namespace fs = std::filesystem;

StudySpec spec_of(const JsonNode& document) {
  if (!document.is_object()) throw error_at(document, "", "an object", document.found_text());
  StudySpec spec;
  read_config(document, spec);
  return spec;
}

/// Beside the study, or by name.
std::string file_of_base(const std::string& study, const std::string& base,
                         const DataFolder& data) {
  std::error_code ignored;
  const fs::path beside = fs::path(study).parent_path() / base;
  return fs::is_regular_file(beside, ignored) ? beside.lexically_normal().string()
                                              : data.find(base);
}

void add_files(const JsonNode& node, const fs::path& folder, std::string& content) {
  for (const JsonNode& child : node.children()) add_files(child, folder, content);
  std::error_code ignored;
  if (!node.is_string() || node.text().empty()) return;
  const fs::path file = folder / node.text();
  if (!fs::is_regular_file(file, ignored)) return;
  std::ifstream in(file, std::ios::binary);
  content += '\n' + content_hash({std::istreambuf_iterator<char>(in), {}});
}

std::string setting(const JsonNode& configuration, const std::string& path) {
  const std::optional<std::string> text = setting_at(configuration, path);
  ConfigError::Detail detail;
  if (text && text->find(", ") == std::string::npos) return *text;
  detail.found = text ? path + " has different values: " + *text
                      : "no setting " + in_quotes(path) + " is in force";
  throw ConfigError(std::move(detail));
}

/// Describing a scenario wants to be able to write.
JsonNode configuration_of(Scenario scenario) { return dump_config(scenario); }

}  // namespace

StudyFile::StudyFile(const std::string& file, const DataFolder& data)
    : name_(fs::path(file).stem().string()),
      document_(read_json_file(file)),
      plan_(document_, spec_of(document_)) {
  const std::string base = file_of_base(file, plan_.spec().base, data);
  base_ = read_json_file(base);
  presets_ = data.presets_for(base);
  const Scenario scenario =
      read(plan_.spec().set != nullptr ? plan_.spec().set->children() : std::vector<JsonNode>());
  base_seed_ = scenario.seed;
  const std::string variant = plan_.spec().variant.value_or("");
  for (const ExpectationSpec& expected : scenario.expect)
    if (expected.violation && expected.variant.value_or(variant) == variant)
      expected_violations_.push_back(*expected.violation);
  cost_of(scenario);  // for what is wrong with the expression
}

Scenario StudyFile::read(std::vector<JsonNode> changes) {
  ScenarioSelection selection;
  selection.variant = plan_.spec().variant.value_or("");
  selection.changes = std::move(changes);
  return read_scenario(base_, selection, presets_);
}

Scenario StudyFile::scenario_at(const StudyPoint& point) {
  Scenario scenario = read(plan_.changes(point));
  if (plan_.spec().repeats > 1) scenario.seed = base_seed_ + point.repeat;
  return scenario;
}

std::optional<double> StudyFile::cost_of(const Scenario& scenario) const {
  if (!plan_.spec().cost) return std::nullopt;
  const JsonNode configuration = configuration_of(scenario);
  try {
    return number_of_expression(plan_.spec().cost->expression, [&](const std::string& path) {
      return setting(configuration, path);
    });
  } catch (const ConfigError& error) {
    fail_check(document_, "cost.expression", error.detail().found);
  }
}

std::string key_of(const Scenario& scenario) {
  JsonNode configuration = configuration_of(scenario);
  for (const char* other : {"title", "variants", "expect", "ablate", "compare", "timeline"})
    configuration.erase(other);
  std::string content = program_identity() + '\n' + to_nlohmann(configuration).dump();
  add_files(configuration, scenario.fabric.folder, content);
  for (std::size_t i = 0; i < scenario.workload.size(); ++i)
    if (is_of_flows(scenario.workload[i].pattern))
      add_files(configuration.find("workload")->children()[i], scenario.workload[i].folder,
                content);
  return content_hash(content);
}

}  // namespace rnicsim
