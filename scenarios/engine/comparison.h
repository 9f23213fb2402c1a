// SPDX-License-Identifier: MIT
// Runs side by side: tables whose columns are runs and whose rows are what was measured in each, or
// set. The views (tools/export/comparison) and documents are all made of this.
//
// A cell holds a number in the row's unit, or words, or nothing: the run did not come to a proper
// end, has no such block or workload, or a percentile of what did not happen. What is counted and
// did not occur is 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/comparison_spec.h"
#include "scenarios/engine/expectations.h"

namespace rnicsim {

struct ComparisonCell {
  std::optional<double> value;  ///< in the row's unit
  std::string words;            ///< instead of a number; "{}" is the number
};

struct ComparisonColumn {
  std::string title;
  // Of the run; of rows that choose among variants the column's share of their names.
  std::string scenario;
  std::string variant;
  std::string error;  ///< why it failed, or empty
};

/// Which value of a row is the best.
enum class Better { kUnknown, kLess, kMore };

struct ComparisonRow {
  std::string group;  ///< heading above it; empty: none
  ComparisonChart chart = ComparisonChart::kBars;
  std::string title;
  std::string metric;  ///< or the path of a setting
  std::string per;
  Unit unit = Unit::kCount;
  std::optional<std::string> unit_text;  ///< words behind the bare number, instead of the unit
  std::optional<Unit> per_unit;          ///< by which `unit` is divided: B of cycles/B
  Better better = Better::kUnknown;
  std::vector<ComparisonCell> cells;  ///< one a column

  /// No value is better, and one is worse.
  bool is_best(std::size_t column) const;
  /// Of the first column's value; nothing without one, or if that is 0.
  std::optional<double> factor(std::size_t column) const;
};

struct ComparisonTable {
  std::string title;
  std::vector<ComparisonColumn> columns;
  std::vector<ComparisonRow> rows;
};

struct Comparison {
  std::string title;  ///< the scenario's, if it is one
  std::vector<ComparisonTable> tables;
};

/// One table of all runs, with the usual rows or, if there are globs, the metrics that they match.
/// Throws ConfigError for a glob that matches none.
Comparison compare_runs(const std::vector<JudgedRun>& runs,
                        const std::vector<std::string>& metric_globs);

/// As the scenario says; columns whose runs are not among `runs` are left out, and tables with
/// fewer than two. Throws ConfigError for a metric or setting that no run of a table has, unless
/// runs are left out.
/// REQUIRES: file.base.compare.
Comparison compare_as_laid_out(const ScenarioFile& file, const std::vector<JudgedRun>& runs);

/// Names of the runs that the tables show ("base": the scenario itself), each once.
/// REQUIRES: file.base.compare.
std::vector<std::string> compared_runs(const Scenario& scenario);

}  // namespace rnicsim
