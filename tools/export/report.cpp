// SPDX-License-Identifier: MIT
#include "tools/export/report.h"

#include <nlohmann/json.hpp>

#include "scenarios/engine/result_document.h"
#include "scenarios/engine/run_json.h"
#include "scenarios/engine/unit_name.h"
#include "tools/export/bottleneck_text.h"
#include "tools/export/finding_text.h"
#include "tools/export/operation_text.h"
#include "tools/export/over_time.h"
#include "tools/export/page.h"
#include "tools/export/preset_sources.h"
#include "tools/export/swim_lanes.h"
#include "tools/export/terminal.h"
#include "tools/export/value_text.h"
#include "tools/export/waterfall.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;

Json words_of(Language language) {
  Json words = Json::object();
  for (const auto& [name, word] : page_words(language)) words[name] = word;
  return words;
}

Json workloads_of(const JudgedRun& run, Language language) {
  Json workloads = Json::array();
  for (const WorkloadSpec& workload : run.setup.workload)
    workloads.push_back({{"name", workload.name}, {"deed", deed_text(workload, language)}});
  return workloads;
}

Json hosts_of(const JudgedRun& run) {
  Json hosts = Json::array();
  for (const HostSpec& host : run.setup.hosts)
    for (const std::string& name : host.machine_names()) hosts.push_back(name);
  return hosts;
}

Json waterfall_to_json(const Waterfall& message) {
  Json stages = Json::array();
  for (const WaterfallStage& stage : message.stages)
    stages.push_back({{"name", stage.name},
                      {"step", stage.step},
                      {"begin_ps", stage.begin.ps()},
                      {"end_ps", stage.end.ps()}});
  return {{"workload", message.workload}, {"stages", std::move(stages)}};
}

Json stage_row_to_json(const StageRow& row) {
  return {{"name", row.name},       {"messages", row.messages}, {"mean_ps", row.mean.ps()},
          {"p50_ps", row.p50.ps()}, {"p90_ps", row.p90.ps()},   {"p99_ps", row.p99.ps()},
          {"max_ps", row.max.ps()}, {"share", row.share}};
}

Json spread_to_json(const Spread& spread) {
  Json json = {{"workload", spread.workload},
               {"messages", spread.messages},
               {"left_out", spread.left_out},
               {"rows", Json::array()},
               {"whole", stage_row_to_json(spread.whole)},
               {"ranked", Json::array()}};
  for (const StageRow& row : spread.rows) json["rows"].push_back(stage_row_to_json(row));
  for (const Waterfall& message : spread.ranked)
    json["ranked"].push_back(waterfall_to_json(message)["stages"]);
  return json;
}

Json notes_of(const JudgedRun& run, Language language) {
  Json notes = Json::array();
  for (const std::string& note : run.result.notes) notes.push_back(finding_text(note, language));
  return notes;
}

Json bottlenecks_of(const JudgedRun& run, Language language) {
  Json bottlenecks = bottlenecks_to_json(run.result.bottlenecks);
  for (std::size_t i = 0; i < bottlenecks.size(); ++i)
    bottlenecks[i]["text"] = bottleneck_text(run.result.bottlenecks[i], language);
  return bottlenecks;
}

Json metrics_of(const JudgedRun& run, Language language) {
  Json metrics = Json::array();
  for (const auto& [path, metric] : run.result.metrics)
    metrics.push_back({{"path", path},
                       {"value", number_to_json(metric.as_real())},
                       {"unit", unit_name(metric.unit)},
                       {"text", short_text(metric.as_real(), metric.unit)},
                       {"description", description_in(metric.description, language)}});
  return metrics;
}

Json configuration_of(const JudgedRun& run, Language language, PresetSource& presets) {
  Json entries = Json::array();
  for (const SourcedEntry& sourced : sourced_configuration(run.setup, presets)) {
    const ConfigEntry& entry = sourced.entry;
    entries.push_back({{"path", entry.path},
                       {"value", entry.unit.empty() ? entry.value : entry.value + ' ' + entry.unit},
                       {"doc", description_in(entry.doc, language)},
                       {"source", sourced.source.empty() ? label(Label::kUnknownSource, language)
                                                         : sourced.source}});
  }
  return entries;
}

Json expectations_of(const JudgedRun& run, Language language) {
  Json expectations = Json::array();
  for (const ExpectationResult& result : run.expectations)
    expectations.push_back({{"subject", result.spec.metric      ? *result.spec.metric
                                        : result.spec.violation ? *result.spec.violation
                                                                : std::string()},
                            {"expected", expected_text(result.spec, language)},
                            {"measured", exact_text(result.measured, result.unit)},
                            {"met", result.accepted()}});
  return expectations;
}

}  // namespace

std::string report_json(const JudgedRun& run, Language language, PresetSource& presets) {
  Json json = {{"format", "rnicsim-report"},
               {"version", 1},
               {"language", name_of(language)},
               {"words", words_of(language)},
               {"title", run.setup.title},
               {"scenario", run.scenario},
               {"variant", run.setup.variant},
               {"seed", run.setup.seed},
               {"end_ps", run.result.end.ps()},
               {"workloads", workloads_of(run, language)},
               {"hosts", hosts_of(run)},
               {"notes", notes_of(run, language)},
               {"bottlenecks", bottlenecks_of(run, language)},
               {"swim_lanes", swim_lanes_svg(swim_lanes(run, language))},
               {"waterfalls", Json::array()},
               {"spreads", Json::array()},
               {"over_time", over_time(run.result, language)},
               {"expectations", expectations_of(run, language)},
               {"violations", failure_lines(run, language)},
               {"metrics", metrics_of(run, language)},
               {"configuration", configuration_of(run, language, presets)}};
  for (const Waterfall& message : waterfalls(run.result, language))
    json["waterfalls"].push_back(waterfall_to_json(message));
  for (const Spread& spread : spreads(run.result, language))
    json["spreads"].push_back(spread_to_json(spread));
  return to_lines(json);
}

std::string report_html(const JudgedRun& run, Language language, PresetSource& presets) {
  return filled_page(report_page(), report_json(run, language, presets));
}

}  // namespace rnicsim
