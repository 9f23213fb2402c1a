// SPDX-License-Identifier: MIT
// A device's DMA writes from the last byte on its link to where they take effect: host memory, a
// GPU's memory, the interrupt controller.
//
// Connects to: host/pcie_link, which says when a write has left the device and asks what a read
// must wait for; behind the root port to what PcieSurroundings has; the link's upstream direction,
// whose posted credits it holds back while the receiver's buffer is full.
//
// Models: the order of effects (an ordered write never before an earlier one, a relaxed one when it
// is itself through), translation by the IOMMU, `ordered_writes` of PcieConfig, memory slower than
// the link, a route through a switch or to a peer. A write is known to this block before it
// arrives; memory is asked in the order of arrivals, as late as something needs the answer
// (settle). Behind an IOMMU posted credits come back when the write half a buffer earlier is taken,
// not one by one, since walks overlap. Approximates: a write takes effect whole, at its last byte.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/ordered_window.h"
#include "host/pcie_config.h"
#include "host/pcie_direction.h"
#include "host/pcie_request.h"
#include "model/probe.h"
#include "model/ring.h"
#include "model/scheduler.h"

namespace rnicsim {

class PcieWrites {
 public:
  static constexpr std::uint32_t kMaxBytes = 4096;

  /// Landings of payload go to `probe`.
  PcieWrites(Scheduler& scheduler, const PcieConfig& config, const PcieSurroundings& around,
             PcieDirection& up, Probe& probe);

  /// A write's last byte left the device at `end`, its first payload byte is at the port at
  /// `begin`; `data` is copied if it matters.
  void land(const PcieRequest& request, Time begin, Time end, const std::uint8_t* data);
  /// Asks the memory for the writes that reach it until then: reads and writes share its bandwidth
  /// in the order of their arrival, and a write is known before it arrives.
  void settle(Time until);

  /// Of the writes that are settled, when the last one is visible.
  Time last_visible() const { return last_visible_; }
  /// Of the writes that a route has carried, when the last one is where it goes.
  Time last_arrival() const { return last_arrival_; }
  /// `first`, or when the latest write to any of the read's bytes is visible, where memory knows
  /// lines. REQUIRES: the writes that arrive before the read are settled.
  Time after_writes_to(const PcieRequest& read, Time first) const;

  /// Nothing is about to take effect.
  bool idle() const { return free_.size() == writes_.size(); }
  /// Writes to addresses that nobody has.
  std::uint64_t faults() const { return faults_; }

 private:
  struct Write : PcieRequest {
    bool settled = false;  ///< the memory has given its time
    Time begin;            ///< first byte at what takes it
    Time arrival;          ///< last byte there
    Time visible;
    std::unique_ptr<std::array<std::uint8_t, kMaxBytes>> data;  ///< kept until visible
  };

  std::uint32_t make(const PcieRequest& request, const std::uint8_t* data);
  void route(Write& write, Time end);
  void settle_in_memory(Write& write);
  void hold_credits(Time taken, Bytes bytes);
  void guard_entered();
  Time entered(const Write& write) const { return write.arrival - config_.root_complex_latency; }
  Time effect_latency(const Write& write) const;
  void make_visible(std::uint64_t index);
  void make_relaxed_visible(std::uint64_t index);
  void take_effect(std::uint32_t index);

  Scheduler& scheduler_;
  PcieConfig config_;
  PcieFormat format_;
  const PcieSurroundings& around_;
  PcieDirection& up_;
  Probe& probe_;
  std::vector<Write> writes_;
  std::vector<std::uint32_t> free_;
  Ring<std::uint32_t> unsettled_;  ///< on their way to memory, by arrival
  Ring<std::uint32_t> landing_;    ///< ordered, not visible yet
  Ring<Time> late_;                ///< when those are taken that the IOMMU holds back
  OrderedWindow window_;
  Time last_visible_;
  Time last_arrival_;
  std::uint64_t faults_ = 0;
};

}  // namespace rnicsim
