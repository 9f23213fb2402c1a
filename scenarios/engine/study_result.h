// SPDX-License-Identifier: MIT
// What a study measured: a row for each point, with a value for each metric. The verdict
// (scenarios/engine/study_verdict) and the views (tools/export/study_views) are made of this.
//
// A row has an error if its point failed or something happened in it that the base does not expect;
// it has no values if it came to no proper end.
#pragma once

#include <optional>
#include <set>
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
  std::vector<std::string> warnings;
};

/// Takes the points' outcomes in any order.
class StudyCollector {
 public:
  explicit StudyCollector(const StudyFile& study);

  /// `row` has everything but values and, unless the point could not be read, error.
  void add(StudyRow row, const PointOutcome& outcome);
  std::size_t failed() const { return failed_; }  ///< rows with an error
  /// A metric that no run has, though some came to their end, is warned of.
  StudyResult finish();

 private:
  void add_values(StudyRow& row, const RunResult& run);
  std::string unexpected(const RunResult& run, bool& spoilt) const;
  void note_names(const RunResult& run);
  void warn_of(const StudyMetricSpec& spec, const std::string& missing, bool counts_as_zero);

  const StudyFile& study_;
  StudyResult result_;
  struct Known {
    bool metric = false;
    bool divisor = false;
    bool value = false;
  };
  std::vector<Known> known_;     ///< one a metric: whether any run has it
  std::set<std::string> names_;  ///< of metrics of runs that lacked one
  bool any_run_ = false;
  std::size_t failed_ = 0;
};

}  // namespace rnicsim
