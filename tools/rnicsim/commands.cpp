// SPDX-License-Identifier: MIT
#include "tools/rnicsim/commands.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "scenarios/engine/simulation.h"
#include "tools/export/terminal.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {

ScenarioFile load_named(const std::string& name, const RunSelection& selection) {
  const DataFolder data = DataFolder::of_this_program();
  const std::string file = data.find(name);
  PresetDirectories presets = data.presets_for(file);
  return load_scenario(file, selection, presets);
}

std::string run_name(const std::string& scenario, const std::string& variant) {
  return variant.empty() ? scenario : scenario + " (" + variant + ")";
}

std::vector<std::vector<JudgedRun>> simulate_and_judge(
    const std::vector<ScenarioFile>& files, RunnerOptions options,
    const std::vector<RunRecording>& recordings) {
  std::vector<SimulationJob> work;
  for (const ScenarioFile& file : files)
    for (const Scenario& run : file.runs) work.push_back({run_name(file.name, run.variant), &run});
  for (std::size_t i = 0; i < recordings.size(); ++i) work[i].recording = recordings[i];
  options.progress = options.progress && isatty(STDERR_FILENO) != 0;
  options.simulate = simulate;
  std::vector<RunResult> results = run_simulations(work, options);

  std::vector<std::vector<JudgedRun>> judged;
  auto next = results.begin();
  for (const ScenarioFile& file : files) {
    const auto end = next + static_cast<std::ptrdiff_t>(file.runs.size());
    judged.push_back(judge(file, {std::make_move_iterator(next), std::make_move_iterator(end)}));
    next = end;
  }
  return judged;
}

bool report_failures(const std::vector<JudgedRun>& runs) {
  bool passed = true;
  for (const JudgedRun& run : runs) {
    passed = passed && run.passed();
    for (const std::string& line : failure_lines(run))
      std::cerr << run_name(run.scenario, run.setup.variant) << ": " << line << '\n';
  }
  return passed;
}

void check_place_of(const OptionValues& values, const char* option) {
  if (values.count(option) == 0) return;
  const std::filesystem::path file(values[option].as<std::string>());
  if (!file.has_filename()) throw UsageError(std::string("--") + option + ": expected a file");
  if (file.has_parent_path()) check_output_folder(file.parent_path().string());
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0') &&
         terminal != nullptr && std::string(terminal) != "dumb";
}

}  // namespace rnicsim
