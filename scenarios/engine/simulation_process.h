// SPDX-License-Identifier: MIT
// One simulation in a process of its own, as its parent sees it. Linux: the child dies with its
// parent (prctl).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/engine/runner.h"

namespace rnicsim {

/// The system has no more processes or descriptors to give, for now.
class NoProcess : public SimulationFault {
  using SimulationFault::SimulationFault;
};

class SimulationProcess {
 public:
  /// Forks. The child's signal mask becomes `mask`. Throws NoProcess.
  SimulationProcess(const SimulationJob& job, const RunnerOptions& options, const sigset_t& mask);
  SimulationProcess(const SimulationProcess&) = delete;
  SimulationProcess& operator=(const SimulationProcess&) = delete;
  /// Ends the child if it has not ended.
  ~SimulationProcess();

  int pipe() const { return pipe_; }
  /// Takes what the pipe holds; false at its end.
  bool receive();
  /// After the end: the result. Throws what the child failed with.
  RunResult result();
  /// How far simulated time has come, once the child has said so.
  const std::optional<Time>& progress() const { return progress_; }
  /// Looks at its ports that have come since the last call.
  std::vector<LiveLook> take_looks() { return std::exchange(looks_, {}); }

 private:
  void take_lines();
  [[noreturn]] void throw_death(int status) const;

  std::string name_;  ///< before what went wrong; may be empty
  pid_t child_ = -1;
  int pipe_ = -1;
  std::string text_;  ///< the line being received
  char verdict_ = 0;  ///< kind of the last line
  std::string answer_;
  std::optional<Time> progress_;
  std::vector<LiveLook> looks_;
};

}  // namespace rnicsim
