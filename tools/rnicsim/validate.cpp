// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <iostream>

#include "tools/export/ledger.h"
#include "tools/export/terminal.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

constexpr CommandText kText = {
    "validate [GLOB...] [OPTION...]",
    "Runs the scenarios in validation/ (those whose names match a GLOB; a GLOB with a / in it is "
    "a\n"
    "file) and compares each expectation that has an id or a source with what was published. One\n"
    "whose id says \"(calibration)\" has set a value of the model, one that says \"(recalled)\" "
    "has\n"
    "not been read again at its source; neither counts in the mean error. Each ablation of a file\n"
    "takes a mechanism away; the rows that it names must then fail."};

ConfigError nothing_to_run(const std::string& folder, const std::vector<std::string>& globs) {
  ConfigError::Detail detail;
  detail.file = folder;
  detail.found = globs.empty() ? "no scenario there" : "no scenario matches " + in_quotes(globs[0]);
  return ConfigError(std::move(detail));
}

std::vector<std::string> matching(const DataFolder& data, const std::vector<std::string>& globs) {
  const std::string folder = data.path() + "/validation";
  std::vector<std::string> files;
  for (const std::string& name : data.names("validation")) {
    const bool matches = std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
      return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
    });
    if (globs.empty() || matches) files.push_back(fmt::format("{}/{}.json", folder, name));
  }
  for (const std::string& glob : globs)
    if (glob.find('/') != std::string::npos) files.push_back(glob);
  if (files.empty()) throw nothing_to_run(folder, globs);
  return files;
}

/// A mechanism that is taken away must not break the simulator.
bool has_fault(const std::vector<JudgedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const JudgedRun& run) {
    const std::vector<Violation>& all = run.result.violations;
    return std::any_of(all.begin(), all.end(),
                       [](const Violation& violation) { return violation.kind == "fault"; });
  });
}

/// The files, and behind them one for each ablation, with its runs in it.
std::vector<ScenarioFile> with_ablations(std::vector<ScenarioFile> files) {
  const std::size_t count = files.size();
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t a = 0; a < files[i].ablations.size(); ++a) {
      AblatedRuns& ablated = files[i].ablations[a];
      files.push_back({files[i].name + " without " + ablated.spec.name,
                       files[i].document,
                       files[i].base,
                       std::move(ablated.runs),
                       {}});
    }
  return files;
}

}  // namespace

int validate_command(const Arguments& arguments) {
  OptionList options;
  options.add_options()("out", po::value<std::string>()->value_name("DIR"),
                        "write DIR/validation.html (a page with a plot for each published curve), "
                        "validation.json and validation.csv");
  add_jobs_option(options);
  const auto values = parse_options(kText, options, "GLOB", arguments);
  if (!values) return kExitGood;
  RunnerOptions runner;
  runner.jobs = jobs_of(*values);
  runner.progress = true;
  runner.keep_going = true;
  const bool writes = values->count("out") != 0;
  if (writes) check_output_folder((*values)["out"].as<std::string>());

  const DataFolder data = DataFolder::of_this_program();
  std::vector<ScenarioFile> files;
  for (const std::string& file : matching(data, strings_of(*values, "GLOB")))
    files.push_back(load_named(file, {{}, {}, true}));
  const std::size_t own = files.size();
  const std::vector<ScenarioFile> all = with_ablations(std::move(files));
  const std::vector<std::vector<JudgedRun>> judged = simulate_and_judge(all, runner);

  Ledger ledger;
  for (std::size_t i = 0; i < own; ++i) add_rows(ledger, judged[i]);
  std::size_t next = own;
  for (std::size_t i = 0; i < own; ++i)
    for (const AblatedRuns& ablated : all[i].ablations)
      add_ablation(ledger, all[i].name, ablated.spec, judged[next++]);

  std::cout << ledger_table(ledger);
  if (writes) {
    const auto& folder = (*values)["out"].as<std::string>();
    write_output_file(folder, "validation.html", ledger_html(ledger));
    write_output_file(folder, "validation.json", ledger_json(ledger));
    write_output_file(folder, "validation.csv", ledger_csv(ledger));
  }
  bool passed = ledger.ablations_proved();
  for (std::size_t i = 0; i < judged.size(); ++i)
    if (i < own || has_fault(judged[i])) passed = report_failures(judged[i]) && passed;
  return passed ? kExitGood : kExitFailed;
}

}  // namespace rnicsim
