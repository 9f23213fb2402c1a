// SPDX-License-Identifier: MIT
// Runs one checked scenario in this process, from elaboration to the final checks. SystemC cannot
// restart: once a process.
#pragma once

#include <functional>
#include <optional>

#include "scenarios/engine/event_log.h"
#include "scenarios/engine/live_look.h"
#include "scenarios/engine/packet_capture.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/time_series.h"
#include "scenarios/engine/waveform.h"

namespace rnicsim {

class System;

struct SimulationHooks {
  /// Asked every few thousand callbacks with the simulated time; true stops the run.
  std::function<bool(Time)> poll;
  /// Asked as often, and with `last` when the run has ended: whoever watches may take a look.
  std::function<void(LiveView& view, Time now, bool last)> live;
  /// Called once everything stands, before time begins: for a test that breaks something.
  std::function<void(System&)> built;
  /// Off: no timeline and no landing times. Without a log either, no probe is attached anywhere.
  bool timeline = true;
  /// The text trace, on stderr.
  std::optional<EventLogOptions> log;
  std::optional<CaptureOptions> capture;
  std::optional<SeriesOptions> series;
  std::optional<WaveformOptions> waveform;
  /// Record when ports are paused.
  bool pauses = false;
  /// Follow messages to see where their time goes.
  bool latency = false;
};

/// Throws InvariantBroken only for faults of the simulator itself; a broken guarantee of the model
/// is a violation in the result. Throws ConfigError if a capture or waveform
/// cannot be written or a glob matches nothing.
RunResult simulate(const Scenario& scenario, const SimulationHooks& hooks = {});

}  // namespace rnicsim
