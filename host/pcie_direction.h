// SPDX-License-Identifier: MIT
// One direction of a PCIe link: takes trains of TLPs and delivers them at their times. What goes
// when, what is exact and what is approximated: host/pcie_arbiter.
//
// There is no event per TLP: the arbiter's state lags behind time and is advanced when a delivery
// is due or an arrival could change one; one scheduler entry is armed for the earliest delivery, on
// the assumption that nothing else arrives. When something does and delays it, the entry finds
// nothing due and is armed again.
#pragma once

#include <cstdint>

#include "host/pcie_arbiter.h"
#include "host/pcie_train.h"
#include "model/metrics.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

class PcieDirection {
 public:
  static constexpr unsigned kMaxStreams = PcieArbiter::kMaxStreams;

  PcieDirection(Scheduler& scheduler, const PcieDirectionConfig& config);

  /// Queues a train behind those of its stream that are eligible no later.
  void send(unsigned stream, const Train& train);
  /// The receiver takes no posted data out of its buffer before `time`: no credits come back
  /// earlier.
  void hold_posted_credits(Time time) { arbiter_.hold_posted_credits(time); }

  bool idle() const { return undelivered_ == 0; }
  /// Of TLPs, so far.
  Bytes bytes() const { return arbiter_.bytes(); }
  const ByteTime& byte_time() const { return arbiter_.byte_time(); }
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  void queue(unsigned stream, const Train& train);
  void fire(std::uint64_t generation);
  void arm();

  Scheduler& scheduler_;
  PcieDirectionConfig config_;
  PcieArbiter arbiter_;
  PcieReplay replay_;
  Time armed_ = Time::never();
  std::uint64_t generation_ = 0;
  std::uint64_t undelivered_ = 0;
  std::uint64_t most_undelivered_ = 0;
  bool firing_ = false;
};

}  // namespace rnicsim
