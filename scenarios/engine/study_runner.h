// SPDX-License-Identifier: MIT
// Runs the points of a study, each in a process of its own, several at a time. Unlike
// run_simulations it keeps nothing: a point's scenario is made when its turn comes, and its result
// is handed over as soon as it is there, in whatever order points end.
//
// A point whose process dies, or in which the simulator fails, is run once more; if it fails again,
// that is its outcome. While the system has no process to spare, points wait for those that run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "scenarios/engine/runner.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

struct PointOutcome {
  std::optional<RunResult> run;  ///< nothing: it failed
  std::string error;             ///< why, whatever number the point has
};

struct StudyProgress {
  std::size_t done = 0;
  std::size_t running = 0;
  std::size_t total = 0;
};

struct StudyRunnerOptions {
  unsigned jobs = 1;  ///< processes at a time
  std::function<RunResult(const Scenario&, const SimulationHooks&)> simulate;
  std::function<Scenario(std::size_t point)> scenario;
  /// Asked when a point's turn comes; false: it is left out. May be empty.
  std::function<bool(std::size_t point)> claim;
  std::function<void(std::size_t point, PointOutcome)> finished;
  /// After each end, and twice a second; may be empty.
  std::function<void(const StudyProgress&)> progress;
};

/// Throws Interrupted, or SimulationFault if not one process can be had, after ending every child;
/// what has been finished was handed over.
void run_points(const std::vector<std::size_t>& points, const StudyRunnerOptions& options);

}  // namespace rnicsim
