// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iostream>

#include "scenarios/engine/comparison.h"
#include "tools/export/comparison_views.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;

constexpr CommandText kText = {
    "compare FILE... [OPTION...]",
    "Runs scenarios with all their variants and puts what was measured side by side: a column for\n"
    "each run, a row for each metric. A file may say itself how (\"compare\"); without that, or "
    "with\n"
    "several files or --metric, all runs stand in one table."};

OptionList compare_options() {
  OptionList options;
  const auto text = [] { return po::value<std::string>(); };
  const auto strings = [] { return po::value<std::vector<std::string>>()->composing(); };
  options.add_options()("variant", strings()->value_name("NAME"),
                        "only this variant (\"base\": the scenario itself); may be given again");
  options.add_options()("variants", text()->value_name("NAME,..."), "only these variants");
  options.add_options()("set", strings()->value_name("PATH=VALUE"),
                        "change a value in all runs, e.g. workload.0.size=4KiB");
  options.add_options()(
      "metric", strings()->value_name("GLOB"),
      "compare the metrics that match, e.g. \"host.B.cpu.data.*\", instead of the "
      "usual ones; may be given again (rnicsim list metrics)");
  options.add_options()("json", "print the comparison as JSON, and nothing else, on stdout");
  options.add_options()("csv", text()->value_name("FILE"), "write it as CSV, one line a cell");
  options.add_options()("html", text()->value_name("FILE"), "write it as a page with charts");
  options.add_options()("out", text()->value_name("DIR"),
                        "write DIR/comparison.json, comparison.csv and comparison.html");
  options.add_options()("quiet,q", "print only what failed");
  add_jobs_option(options);
  return options;
}

std::vector<std::string> chosen_variants(const OptionValues& values) {
  std::vector<std::string> names = strings_of(values, "variant");
  if (values.count("variants") == 0) return names;
  const std::string list = values["variants"].as<std::string>() + ',';
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = list.find(',', begin);
    if (end == begin) throw UsageError("--variants: expected names joined by commas");
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// What the file itself does not want to show is not run.
void keep_compared_runs(ScenarioFile& file) {
  const std::vector<std::string> wanted = compared_runs(file.base);
  const auto is_unwanted = [&](const Scenario& run) {
    const std::string& name = run.variant.empty() ? kBaseVariant : run.variant;
    return std::find(wanted.begin(), wanted.end(), name) == wanted.end();
  };
  file.runs.erase(std::remove_if(file.runs.begin(), file.runs.end(), is_unwanted), file.runs.end());
}

bool is_laid_out(const std::vector<ScenarioFile>& files, const std::vector<std::string>& globs) {
  return files.size() == 1 && globs.empty() && files[0].base.compare.has_value();
}

std::vector<ScenarioFile> load_files(const OptionValues& values) {
  const std::vector<std::string> names = strings_of(values, "FILE");
  if (names.empty()) throw UsageError("no scenario given");
  const RunSelection selection{chosen_variants(values), strings_of(values, "set")};
  std::vector<ScenarioFile> files;
  files.reserve(names.size());
  for (const std::string& name : names) files.push_back(load_named(name, selection));
  if (selection.variants.empty() && is_laid_out(files, strings_of(values, "metric")))
    keep_compared_runs(files[0]);
  std::size_t columns = 0;
  for (const ScenarioFile& file : files) columns += file.runs.size();
  if (columns < 2) throw UsageError("there is one run, and nothing to compare it with");
  return files;
}

void write_files(const OptionValues& values, const Comparison& comparison) {
  if (values.count("csv") != 0)
    write_output_file(values["csv"].as<std::string>(), comparison_csv(comparison));
  if (values.count("html") != 0)
    write_output_file(values["html"].as<std::string>(), comparison_html(comparison));
  if (values.count("out") == 0) return;
  const auto& folder = values["out"].as<std::string>();
  write_output_file(folder, "comparison.json", comparison_json(comparison));
  write_output_file(folder, "comparison.csv", comparison_csv(comparison));
  write_output_file(folder, "comparison.html", comparison_html(comparison));
}

}  // namespace

int compare_command(const Arguments& arguments) {
  const auto values = parse_options(kText, compare_options(), "FILE", arguments);
  if (!values) return kExitGood;
  const std::vector<std::string> globs = strings_of(*values, "metric");
  if (values->count("out") != 0) check_output_folder((*values)["out"].as<std::string>());
  check_place_of(*values, "csv");
  check_place_of(*values, "html");
  const std::vector<ScenarioFile> files = load_files(*values);
  const bool laid_out = is_laid_out(files, globs);

  RunnerOptions runner;
  runner.jobs = jobs_of(*values);
  runner.progress = values->count("quiet") == 0;
  runner.keep_going = true;
  std::vector<JudgedRun> runs;
  for (std::vector<JudgedRun>& of_file : simulate_and_judge(files, runner))
    for (JudgedRun& run : of_file) runs.push_back(std::move(run));
  Comparison comparison;
  if (laid_out) comparison = compare_as_laid_out(files[0], runs);
  if (comparison.tables.empty()) comparison = compare_runs(runs, globs);

  write_files(*values, comparison);
  TerminalStyle style;
  style.colour = wants_colour();
  if (values->count("json") != 0)
    std::cout << comparison_json(comparison);
  else if (values->count("quiet") == 0)
    std::cout << comparison_table(comparison, style);
  return report_failures(runs) ? kExitGood : kExitFailed;
}

}  // namespace rnicsim
