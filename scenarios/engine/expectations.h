// SPDX-License-Identifier: MIT
// What a scenario expects, held against what its runs gave. An expectation belongs to the run whose
// metric it names; one that names a run which was not selected is left out. A violation that is
// expected is counted over all runs of the scenario and fails none of them, or, if it names a
// variant, over that run alone.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "scenarios/engine/scenario_file.h"

namespace rnicsim {

struct ExpectationResult {
  ExpectationSpec spec;
  double measured = 0;  ///< in `unit`; of ratio_to the ratio
  Unit unit = Unit::kCount;
  bool passed = false;
  /// As the scenario says it is: passed, or missed where it says so.
  bool accepted() const { return passed != spec.missed.has_value(); }
};

/// What could not be judged, as the run that it measures (or compares with) came to no proper end.
struct Unjudged {
  ExpectationSpec spec;
  std::string why;  ///< in one line
};

/// A run with everything that is said about it: what documents and views are made of.
struct JudgedRun {
  std::string scenario;  ///< name of the file
  Scenario setup;
  RunResult result;
  std::vector<ExpectationResult> expectations;
  std::vector<std::string> expected_violations;  ///< kinds
  std::vector<Unjudged> unjudged;
  /// False: the run came to no proper end (and was not expected to), so its metrics say nothing.
  bool judged = true;

  bool expects(const Violation& violation) const;
  /// Every expectation as the scenario says, and no violation but expected ones.
  bool passed() const;
};

/// A run in which that happened came to no proper end: what it measured says nothing.
bool spoils_run(const Violation& violation);

/// `results` are those of `file.runs`, in that order. Throws ConfigError for a metric that the run
/// does not have, or that is compared with a value in another unit.
std::vector<JudgedRun> judge(const ScenarioFile& file, std::vector<RunResult> results);

}  // namespace rnicsim
