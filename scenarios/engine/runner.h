// SPDX-License-Identifier: MIT
// Runs simulations, each in a process of its own (SystemC cannot restart), several at a time.
//
// The child gets its scenario by fork, and hands back its result as JSON through a pipe; whatever
// is printed on its stdout goes to stderr. It dies with its parent. Results come in the order of
// the jobs, whatever finishes first; of several failures the first in that order is reported.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/simulation.h"

namespace rnicsim {

/// What a run writes into files of its own.
struct RunRecording {
  std::optional<CaptureOptions> capture;
  std::optional<WaveformOptions> waveform;
};

struct SimulationJob {
  std::string name;  ///< for messages; empty: they go without
  const Scenario* scenario = nullptr;
  RunRecording recording{};
};

/// The simulator itself failed: a process died or a check of its own does not hold.
class SimulationFault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// SIGINT, SIGTERM or SIGHUP came; every child has been ended.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

struct RunnerOptions {
  unsigned jobs = 1;  ///< processes at a time
  /// One line on stderr, rewritten, once a run takes more than two seconds.
  bool progress = false;
  /// Record when ports are paused.
  bool pauses = false;
  /// Follow messages to see where their time goes.
  bool latency = false;
  /// Record time series.
  std::optional<SeriesOptions> series;
  /// Shown of each run what its ports are doing, twice a second and when it ends.
  std::function<void(const std::string& run, const LiveLook& look)> watch;
  /// A run in which the simulator itself fails gives a result with nothing but a violation "fault",
  /// and the others go on.
  bool keep_going = false;
  /// Text trace on stderr. REQUIRES: jobs is 1, or the traces would mix.
  std::optional<EventLogOptions> log;
  std::function<RunResult(const Scenario&, const SimulationHooks&)> simulate;
};

/// Throws SimulationFault (if that ends the runs), Interrupted, or ConfigError if a child did.
std::vector<RunResult> run_simulations(const std::vector<SimulationJob>& jobs,
                                       const RunnerOptions& options);

}  // namespace rnicsim
