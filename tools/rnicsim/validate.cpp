// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/engine/result_document.h"
#include "scenarios/engine/run_json.h"
#include "scenarios/engine/unit_name.h"
#include "tools/export/terminal.h"
#include "tools/export/value_text.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/output_file.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;
using Relation = ExpectationSpec::Relation;

constexpr CommandText kText = {
    "validate [GLOB...] [OPTION...]",
    "Runs the scenarios in validation/ (those whose names match a GLOB) and compares each\n"
    "expectation that has an id or a source with what was published. One whose id says\n"
    "\"(calibration)\" has set a value of the model, one that says \"(recalled)\" has not been\n"
    "read again at its source; neither counts in the mean error."};

/// One published number and what the model makes of it.
struct Row {
  std::string scenario;
  ExpectationResult result;

  std::string id() const { return result.spec.id ? *result.spec.id : *result.spec.metric; }
  std::string source() const {
    const std::string source = result.spec.source.value_or("");
    return result.spec.missed ? source + "; missing here: " + *result.spec.missed : source;
  }
  /// "missed": does not hold, as its file says with the mechanism that is missing.
  std::string verdict() const {
    if (!result.accepted()) return result.passed ? "FAIL: no longer missed" : "FAIL";
    return result.passed ? "pass" : "missed";
  }
  std::string tolerance() const {
    if (result.spec.relation != Relation::kEquals)
      return result.spec.relation == Relation::kBetween ? "range" : "bound";
    return result.spec.tolerance != nullptr ? result.spec.tolerance->text() : "exact";
  }
  /// Relative; there is none for a bound or a range, nor around zero.
  std::optional<double> error() const {
    const double published = result.spec.low.value;
    if (result.spec.relation != Relation::kEquals || published == 0) return std::nullopt;
    return (result.measured - published) / published;
  }
  std::string error_text() const {
    return error() ? fmt::format("{:+.1f} %", 100 * *error()) : "-";
  }
};

/// Such values are shown but are no evidence: they stay out of the mean.
bool is_no_evidence(const Row& row) {
  return row.id().find("(calibration)") != std::string::npos ||
         row.id().find("(recalled)") != std::string::npos;
}

/// A violation is a published fact if it says where it was published.
bool is_row(const ExpectationSpec& spec) {
  return spec.metric ? spec.id || spec.source : spec.id && spec.source;
}

std::vector<Row> rows_of(const std::vector<std::vector<JudgedRun>>& files) {
  std::vector<Row> rows;
  for (const std::vector<JudgedRun>& runs : files)
    for (const JudgedRun& run : runs)
      for (const ExpectationResult& result : run.expectations)
        if (is_row(result.spec)) rows.push_back({run.scenario, result});
  return rows;
}

std::optional<double> mean_error(const std::vector<Row>& rows) {
  double sum = 0;
  std::size_t count = 0;
  for (const Row& row : rows) {
    const std::optional<double> error = row.error();
    if (!error || !std::isfinite(*error) || is_no_evidence(row)) continue;
    sum += std::abs(*error);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::string table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells{
      {"id", "published", "simulated", "error", "tolerance", "verdict", "source"}};
  for (const Row& row : rows)
    cells.push_back({row.id(),
                     row.result.spec.tolerance != nullptr ? row.result.spec.low.text
                                                          : expected_text(row.result.spec),
                     short_text(row.result.measured, row.result.unit), row.error_text(),
                     row.tolerance(), row.verdict(), row.source()});
  std::vector<std::size_t> widths(cells[0].size());
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width_of(line[i]));
  std::string out;
  for (const auto& line : cells) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      const bool number = i >= 1 && i <= 3;
      out += (number ? padded_left(line[i], widths[i]) : padded(line[i], widths[i])) + "  ";
    }
    out += line.back();
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv(const std::vector<Row>& rows) {
  std::string out = "id,scenario,published,simulated,unit,error,tolerance,verdict,source\n";
  for (const Row& row : rows)
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_cell(row.id()), csv_cell(row.scenario),
                       number_to_json(row.result.spec.low.value).dump(),
                       number_to_json(row.result.measured).dump(), unit_name(row.result.unit),
                       row.error() ? fmt::format("{:.6f}", *row.error()) : "",
                       csv_cell(row.tolerance()), csv_cell(row.verdict()), csv_cell(row.source()));
  return out;
}

Json json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    const std::optional<double> error = row.error();
    list.push_back({{"id", row.id()},
                    {"scenario", row.scenario},
                    {"relation", name_of(row.result.spec.relation)},
                    {"published", number_to_json(row.result.spec.low.value)},
                    {"simulated", number_to_json(row.result.measured)},
                    {"unit", unit_name(row.result.unit)},
                    {"error", error ? Json(*error) : Json()},
                    {"tolerance", row.tolerance()},
                    {"passed", row.result.passed},
                    {"verdict", row.verdict()},
                    {"source", row.source()}});
  }
  const std::optional<double> mean = mean_error(rows);
  return {{"format", "rnicsim-validation"},
          {"version", 1},
          {"mean_absolute_relative_error", mean ? Json(*mean) : Json()},
          {"rows", std::move(list)}};
}

std::vector<std::string> matching(const DataFolder& data, const std::vector<std::string>& globs) {
  std::vector<std::string> names;
  for (const std::string& name : data.names("validation")) {
    const bool matches = std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
      return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
    });
    if (globs.empty() || matches) names.push_back(name);
  }
  if (!names.empty()) return names;
  ConfigError::Detail detail;
  detail.file = data.path() + "/validation";
  detail.found = globs.empty() ? "no scenario there" : "no scenario matches " + in_quotes(globs[0]);
  throw ConfigError(std::move(detail));
}

/// What went wrong in the runs beside the rows of the table.
bool report_other_failures(const std::vector<std::vector<JudgedRun>>& files) {
  bool passed = true;
  for (const std::vector<JudgedRun>& runs : files)
    for (const JudgedRun& run : runs) {
      passed = passed && run.passed();
      for (const std::string& line : failure_lines(run))
        std::cerr << run_name(run.scenario, run.setup.variant) << ": " << line << '\n';
    }
  return passed;
}

}  // namespace

int validate_command(const Arguments& arguments) {
  OptionList options;
  options.add_options()("out", po::value<std::string>()->value_name("DIR"),
                        "write DIR/validation.json and DIR/validation.csv");
  add_jobs_option(options);
  const auto values = parse_options(kText, options, "GLOB", arguments);
  if (!values) return kExitGood;
  RunnerOptions runner;
  runner.jobs = jobs_of(*values);
  runner.progress = true;
  const bool writes = values->count("out") != 0;
  if (writes) check_output_folder((*values)["out"].as<std::string>());

  const DataFolder data = DataFolder::of_this_program();
  std::vector<ScenarioFile> files;
  const std::vector<std::string> names = matching(data, strings_of(*values, "GLOB"));
  files.reserve(names.size());
  for (const std::string& name : names)
    files.push_back(load_named(data.path() + "/validation/" + name + ".json"));
  const std::vector<std::vector<JudgedRun>> judged = simulate_and_judge(files, runner);

  const std::vector<Row> rows = rows_of(judged);
  std::cout << table(rows);
  const auto passed =
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.result.passed; });
  std::cout << fmt::format("{} of {} pass", passed, rows.size());
  const auto missed = std::count_if(rows.begin(), rows.end(), [](const Row& row) {
    return !row.result.passed && row.result.accepted();
  });
  if (missed != 0) std::cout << fmt::format(", {} missed", missed);
  if (const std::optional<double> mean = mean_error(rows))
    std::cout << fmt::format("; mean absolute relative error {:.1f} %", 100 * *mean);
  std::cout << '\n';
  if (writes) {
    const auto& folder = (*values)["out"].as<std::string>();
    write_output_file(folder, "validation.json", to_lines(json(rows)));
    write_output_file(folder, "validation.csv", csv(rows));
  }
  return report_other_failures(judged) ? kExitGood : kExitFailed;
}

}  // namespace rnicsim
