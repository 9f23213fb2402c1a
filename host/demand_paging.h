// SPDX-License-Identifier: MIT
// The driver's side of on-demand paging: takes the page faults that the NIC reports, makes the
// pages known to it, and tells it to go on (mlx5: the page fault work queue).
//
// A kernel worker on the core that took the interrupt handles one fault after the other, as mlx5
// does. Of a work request of this side: all that its segment has behind the absent page, then the
// doorbell. Of a request of the other side: what was asked for, the doorbell, and then as much of
// what the message will want as `fault_ahead` allows. Work is of the data plane: it is part of
// moving the data. Connects to: driver_event_queue (faults come from its interrupt handler),
// memory_registration (the tables), the NIC by an MMIO store. Approximates: one worker, so faults
// queue (mlx5: several, whose work overlaps; likely error: the wait for the work of other faults);
// pages of one step become present together, at its end.
#pragma once

#include "host/cpu_core.h"
#include "host/driver_config.h"
#include "host/memory_registration.h"
#include "host/mmio.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/probe.h"
#include "model/ring.h"

namespace rnicsim {

class DemandPaging {
 public:
  DemandPaging(const DriverConfig& config, MemoryRegistration& regions, MmioPort& mmio,
               const Probe& probe)
      : config_(config), regions_(regions), mmio_(mmio), probe_(probe) {}
  DemandPaging(const DemandPaging&) = delete;
  DemandPaging& operator=(const DemandPaging&) = delete;

  /// A page fault event, from the interrupt handler.
  void add(const abi::Eqe& event);
  /// The handler on `core` has ended: the worker runs if it has anything to do.
  void run(CpuCore& core);
  void report(const MetricScope& scope) const;

 private:
  void begin();
  void asked_for_is_here();
  void ahead_is_here();
  void end();
  void work(VirtualAddress address, std::uint64_t bytes, Time from, Callback then);
  std::uint64_t bring_in(VirtualAddress address, std::uint64_t bytes);

  const DriverConfig& config_;
  MemoryRegistration& regions_;
  MmioPort& mmio_;
  const Probe& probe_;
  CpuCore* core_ = nullptr;
  Ring<abi::Eqe> waiting_;  ///< the front is being handled, if `running_`
  bool running_ = false;
  Time since_;
  std::uint64_t faults_ = 0;
  std::uint64_t pages_ = 0;
  std::uint64_t pages_ahead_ = 0;
  std::size_t most_ = 0;
};

}  // namespace rnicsim
