// SPDX-License-Identifier: MIT
// Runs one checked scenario in this process, from elaboration to the final checks. SystemC cannot
// restart: once a process.
#pragma once

#include <functional>
#include <optional>

#include "scenarios/engine/event_log.h"
#include "scenarios/engine/packet_capture.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

class System;

struct SimulationHooks {
  /// Asked every few thousand callbacks with the simulated time; true stops the run.
  std::function<bool(Time)> poll;
  /// Called once everything stands, before time begins: for a test that breaks something.
  std::function<void(System&)> built;
  /// Off: no timeline and no landing times. Without a log either, no probe is attached anywhere.
  bool timeline = true;
  /// The text trace, on stderr.
  std::optional<EventLogOptions> log;
  std::optional<CaptureOptions> capture;
  /// Record when ports are paused.
  bool pauses = false;
  /// Follow messages to see where their time goes.
  bool latency = false;
};

/// Throws InvariantBroken only for faults of the simulator itself; a broken guarantee of the model
/// is a violation in the result. Throws ConfigError if the capture cannot be written.
RunResult simulate(const Scenario& scenario, const SimulationHooks& hooks = {});

}  // namespace rnicsim
