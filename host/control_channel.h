// SPDX-License-Identifier: MIT
// An ordered one-way message channel between two programs: how B hands address, length and rkey to
// A (step 3).
//
// FixedControlChannel models a configured latency, the same for every message, and order. It
// ignores everything else: it stands for what applications really use, without packets, CPU cycles
// and loss, so its time is a given and not a result. What they really use is a TCP connection
// (scenarios/engine/tcp_control) or the connection manager.
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
  virtual ~ControlChannel() = default;
  /// From the program at one end. One at a time.
  virtual void send(CpuTask& from, ControlMessage message) = 0;
  /// Sleeps until a message is there. One receiver at a time.
  virtual ControlMessage receive(CpuTask& to) = 0;
  virtual void report(const MetricScope& scope) const = 0;

  /// kControlMessage at each delivery.
  Probe& probe() { return probe_; }

 protected:
  ControlChannel() = default;
  ControlChannel(const ControlChannel&) = default;
  ControlChannel& operator=(const ControlChannel&) = default;

 private:
  Probe probe_;
};

class FixedControlChannel final : public ControlChannel {
 public:
  FixedControlChannel(Scheduler& scheduler, Time latency)
      : scheduler_(scheduler), latency_(latency) {}

  /// Settles `from` first; the message arrives `latency` later.
  void send(CpuTask& from, ControlMessage message) override;
  ControlMessage receive(CpuTask& to) override;
  /// messages, occupancy.max; a pure delay is never busy and stalls nobody.
  void report(const MetricScope& scope) const override;

 private:
  struct Sent {
    Time at;
    ControlMessage message;
  };
  void deliver();

  Scheduler& scheduler_;
  Time latency_;
  Ring<Sent> in_flight_;
  Ring<ControlMessage> delivered_;
  CpuTask* receiver_ = nullptr;  ///< sleeps in receive()
  std::uint64_t messages_ = 0;
  std::size_t most_ = 0;  ///< in flight and not yet taken
};

}  // namespace rnicsim
