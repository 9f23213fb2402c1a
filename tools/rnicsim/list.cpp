// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "scenarios/engine/runner.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/unit_name.h"
#include "tools/rnicsim/commands.h"

namespace rnicsim {
namespace {

constexpr CommandText kText = {
    "list [scenarios|studies|presets|metrics|signals]",
    "Lists the scenarios (the default), studies, presets, metrics or signals there are, one line\n"
    "each. Metrics (what a run came to) and signals (what can be followed through it, with run's\n"
    "--vcd, --csv, --perfetto and --report) are those of two hosts A and B with one NIC each, a\n"
    "switch and a workload w0; signals also of DCQCN."};

struct Line {
  std::string name;
  std::string text;
};

void print(const std::vector<Line>& lines) {
  std::size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.name.size());
  for (const Line& line : lines)
    std::cout << fmt::format("{:<{}}  {}\n", line.name, width, line.text);
}

std::string title_of(const std::string& file) {
  try {
    const JsonNode document = read_json_file(file);
    const JsonNode* title = document.find("title");
    return title != nullptr ? title->text() : "";
  } catch (const ConfigError& error) {  // one bad file does not hide the others
    return std::string("(") + error.what() + ")";
  }
}

std::vector<Line> scenarios(const DataFolder& data) {
  std::vector<Line> lines;
  for (const std::string& name : data.names()) lines.push_back({name, title_of(data.find(name))});
  return lines;
}

std::vector<Line> studies(const DataFolder& data) {
  std::vector<Line> lines;
  for (const std::string& name : data.names("studies"))
    lines.push_back({name, title_of(fmt::format("{}/studies/{}.json", data.path(), name))});
  return lines;
}

std::vector<Line> presets(const DataFolder& data) {
  std::vector<Line> lines;
  for (const PresetKind kind : kPresetKinds) {
    const std::string folder = std::string("presets/") + name_of(kind);
    for (const std::string& name : data.names(folder))
      lines.push_back({std::string(name_of(kind)) + "/" + name,
                       title_of(fmt::format("{}/{}/{}.json", data.path(), folder, name))});
  }
  return lines;
}

/// Blocks name their metrics when they have run, their signals when they stand: so the smallest
/// scenario is run.
/// `sets`: changes to it.
RunResult run_smallest(const DataFolder& data, const std::vector<std::string>& sets,
                       const decltype(RunnerOptions::simulate)& how) {
  PresetDirectories presets = data.presets_for("");
  const Scenario smallest = read_scenario(parse_json(R"({"hosts": [{"name": "A"}, {"name": "B"}],
                     "fabric": {"topology": "star"},
                     "workload": [{"name": "w0", "from": "A", "to": "B", "size": "64 B"}]})",
                                                     "smallest scenario"),
                                          {"", sets}, presets);
  RunnerOptions options;
  options.simulate = how;
  return run_simulations({{"smallest scenario", &smallest}}, options).front();
}

std::vector<Line> metrics(const DataFolder& data) {
  std::vector<Line> lines;
  for (const auto& [path, metric] : run_smallest(data, {}, simulate).metrics)
    lines.push_back({path, fmt::format("[{}] {}", unit_name(metric.unit), metric.description)});
  return lines;
}

std::string text_of(const Signal& signal) {
  if (signal.kind == SignalKind::kState)
    return fmt::format("[{}] {}", fmt::join(signal.states, ", "), signal.description);
  TimeSeries::Column column;
  column.kind = signal.kind;
  column.unit = signal.unit;
  return fmt::format("[{}] {}", unit_name(TimeSeries::shown_unit(column)), signal.description);
}

std::vector<Line> signals(const DataFolder& data) {
  const auto list = [](const Scenario& scenario, const SimulationHooks& hooks) {
    RunResult listed;
    SimulationHooks listing = hooks;
    listing.built = [&](System& system) {
      for (const Signal& signal : system.signals()) {
        listed.notes.push_back(signal.path);
        listed.notes.push_back(text_of(signal));
      }
    };
    simulate(scenario, listing);
    return listed;
  };
  const std::vector<std::string> texts =
      run_smallest(data, {"hosts.*.nic.congestion_control.algorithm=dcqcn"}, list).notes;
  std::vector<Line> lines;
  for (std::size_t i = 0; i < texts.size(); i += 2) lines.push_back({texts[i], texts[i + 1]});
  return lines;
}

}  // namespace

int list_command(const Arguments& arguments) {
  const auto values = parse_options(kText, OptionList(), "WHAT", arguments);
  if (!values) return kExitGood;
  std::vector<std::string> what = strings_of(*values, "WHAT");
  if (what.empty()) what.emplace_back("scenarios");
  if (what.size() > 1)
    throw UsageError("expected one of scenarios, studies, presets, metrics and signals");
  const DataFolder data = DataFolder::of_this_program();
  if (what[0] == "scenarios")
    print(scenarios(data));
  else if (what[0] == "studies")
    print(studies(data));
  else if (what[0] == "presets")
    print(presets(data));
  else if (what[0] == "metrics")
    print(metrics(data));
  else if (what[0] == "signals")
    print(signals(data));
  else
    throw UsageError("expected scenarios, studies, presets, metrics or signals, found " +
                     in_quotes(what[0]));
  return kExitGood;
}

}  // namespace rnicsim
