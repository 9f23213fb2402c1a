// SPDX-License-Identifier: MIT
// What a study measured: a row for each point, with a value for each metric. The verdict
// (scenarios/engine/study_verdict) and the views (tools/export/study_views) are made of this.
//
// A row has an error if its point failed or something happened in it that the base does not expect;
// it has no values if it came to no proper end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/study_file.h"
#include "scenarios/engine/study_plan.h"
#include "scenarios/engine/study_runner.h"

namespace rnicsim {

struct StudyMetric {
  StudyMetricSpec spec;
  std::string unit;  ///< as the result document has it, or e.g. "cycles/B", or the file's words
};

struct StudyRow {
  StudyPoint point;
  std::string key;  ///< of its result; empty: its values do not go together
  std::optional<double> cost;
  std::vector<std::optional<double>> values;  ///< one a metric
  std::string error;
};

struct StudyResult {
  std::string name;  ///< of the study's file
  StudyPlan plan;
  std::vector<StudyMetric> metrics;
  std::vector<StudyRow> rows;  ///< in the order of the points
};

/// Takes the points' outcomes in any order.
class StudyCollector {
 public:
  explicit StudyCollector(const StudyFile& study);

  /// `row` has everything but values and, unless the point could not be read, error.
  void add(StudyRow row, const PointOutcome& outcome);
  std::size_t failed() const { return failed_; }  ///< rows with an error
  /// Throws ConfigError for a metric that no run has, though some came to their end.
  StudyResult finish();

 private:
  void add_values(StudyRow& row, const RunResult& run);
  std::string unexpected(const RunResult& run, bool& spoilt) const;

  const StudyFile& study_;
  StudyResult result_;
  std::vector<bool> known_;  ///< one a metric
  bool any_run_ = false;
  std::size_t failed_ = 0;
};

}  // namespace rnicsim
