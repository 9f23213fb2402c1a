// SPDX-License-Identifier: MIT
#include "scenarios/engine/result_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/config_output.h"
#include "scenarios/engine/run_json.h"
#include "scenarios/engine/unit_name.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;
using Relation = ExpectationSpec::Relation;

Json configuration_of(const Scenario& setup) {
  Scenario copy = setup;  // describing wants to be able to write
  JsonNode configuration = dump_config(copy);
  configuration.erase("variants");
  configuration.erase("expect");
  configuration.erase("ablate");
  configuration.erase("compare");
  return to_nlohmann(configuration);
}

Json expectation_to_json(const ExpectationResult& result) {
  const ExpectationSpec& spec = result.spec;
  Json json = Json::object();
  if (spec.id) json["id"] = *spec.id;
  if (spec.metric) json["metric"] = *spec.metric;
  if (spec.violation) json["violation"] = *spec.violation;
  if (spec.variant) json["variant"] = *spec.variant;
  if (spec.ratio_to) json["ratio_to"] = *spec.ratio_to;
  if (spec.difference_to) json["difference_to"] = *spec.difference_to;
  json["relation"] = name_of(spec.relation);
  json["expected"] = number_to_json(spec.low.value);
  if (spec.relation == Relation::kBetween)
    json["expected"] = {number_to_json(spec.low.value), number_to_json(spec.high.value)};
  if (spec.relation == Relation::kEquals)
    json["tolerance"] = number_to_json(spec.allowed_deviation);
  json["measured"] = number_to_json(result.measured);
  json["unit"] = unit_name(result.unit);
  json["passed"] = result.passed;
  if (spec.missed) json["missed"] = *spec.missed;
  if (spec.source) json["source"] = *spec.source;
  return json;
}

Json run_to_json(const JudgedRun& run) {
  Json json = {{"scenario", run.scenario},
               {"title", run.setup.title},
               {"variant", run.setup.variant},
               {"seed", run.setup.seed},
               {"configuration", configuration_of(run.setup)},
               {"packet_format", packet_format_name(run.setup.fabric)},
               {"routable", is_routable(run.setup.fabric)},
               {"notes", run.result.notes},
               {"end_ps", run.result.end.ps()},
               {"timeline", timeline_to_json(run.result.timeline)},
               {"metrics", metrics_to_json(run.result.metrics)},
               {"bottlenecks", bottlenecks_to_json(run.result.bottlenecks)},
               {"flows", flows_to_json(run.result.flows)},
               {"expectations", Json::array()},
               {"violations", Json::array()},
               {"passed", run.passed()}};
  if (run.result.flows.empty()) json.erase("flows");
  if (run.result.notes.empty()) json.erase("notes");
  for (const ExpectationResult& result : run.expectations)
    json["expectations"].push_back(expectation_to_json(result));
  for (const Violation& violation : run.result.violations) {
    Json entry = violation_to_json(violation);
    entry["expected"] = run.expects(violation);
    json["violations"].push_back(std::move(entry));
  }
  return json;
}

/// What a file says came from outside and may be no UTF-8.
std::string scalar_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool fits_one_line(const Json& json) {
  return !json.is_structured() ||
         std::none_of(json.begin(), json.end(), [](const Json& j) { return j.is_structured(); });
}

void write(const Json& json, std::size_t indent, std::string& out) {
  if (!json.is_structured()) {
    out += scalar_text(json);
    return;
  }
  const bool one_line = fits_one_line(json);
  const std::string inner = one_line ? " " : '\n' + std::string(indent + 2, ' ');
  const std::string outer = one_line ? " " : '\n' + std::string(indent, ' ');
  out += json.is_array() ? '[' : '{';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    out += first ? inner : ',' + inner;
    first = false;
    if (json.is_object()) out += scalar_text(key) + ": ";
    write(value, indent + 2, out);
  }
  if (!first) out += outer;
  out += json.is_array() ? ']' : '}';
}

}  // namespace

const char* name_of(Relation relation) {
  switch (relation) {
    case Relation::kEquals:
      return "equals";
    case Relation::kAtLeast:
      return "at_least";
    case Relation::kAtMost:
      return "at_most";
    case Relation::kBetween:
      break;
  }
  return "between";
}

Json result_document(const std::vector<JudgedRun>& runs) {
  Json document = {
      {"format", "rnicsim-result"}, {"version", kResultVersion}, {"runs", Json::array()}};
  for (const JudgedRun& run : runs) document["runs"].push_back(run_to_json(run));
  return document;
}

std::string to_lines(const Json& json) {
  std::string out;
  write(json, 0, out);
  return out + '\n';
}

}  // namespace rnicsim
