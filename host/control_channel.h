// SPDX-License-Identifier: MIT
// An ordered one-way message channel between two programs: how B hands address, length and rkey to
// A (step 3).
//
// Models: a configured latency, the same for every message, and order.
// Ignores: everything else. It stands for what applications really use (a TCP socket, the
// connection manager): no packets, no CPU cycles, no loss. Its time is a given, not a result.
#pragma once

#include <cstdint>
#include <vector>

#include "host/cpu_core.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"

namespace rnicsim {

using ControlMessage = std::vector<std::uint8_t>;

class ControlChannel {
 public:
  ControlChannel(Scheduler& scheduler, Time latency) : scheduler_(scheduler), latency_(latency) {}

  /// Settles `from` first; the message arrives `latency` later.
  void send(CpuTask& from, ControlMessage message);
  /// Sleeps until a message is there. One receiver at a time.
  ControlMessage receive(CpuTask& to);

  /// kControlMessage at each delivery.
  Probe& probe() { return probe_; }
  /// messages, occupancy.max; a pure delay is never busy and stalls nobody.
  void report(const MetricScope& scope) const;

 private:
  struct Sent {
    Time at;
    ControlMessage message;
  };
  void deliver();

  Scheduler& scheduler_;
  Time latency_;
  Probe probe_;
  Ring<Sent> in_flight_;
  Ring<ControlMessage> delivered_;
  CpuTask* receiver_ = nullptr;  ///< sleeps in receive()
  std::uint64_t messages_ = 0;
  std::size_t most_ = 0;  ///< in flight and not yet taken
};

}  // namespace rnicsim
