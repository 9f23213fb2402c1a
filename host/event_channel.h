// SPDX-License-Identifier: MIT
// Where a process gets its events: a queue in the kernel that the interrupt handler fills and a
// program empties with a system call, asleep while there are none (the file behind libibverbs'
// completion channel, and the one behind its asynchronous events).
//
// While somebody sleeps, timers alone keep the run alive: an event may be held back by one.
//
// Models: the system call; sleeping and waking (host/wait_queue).
// Ignores: poll() and select() on the file, signals.
#pragma once

#include <cstdint>
#include <optional>

#include "host/cpu_core.h"
#include "host/interrupt_controller.h"
#include "host/wait_queue.h"
#include "model/nic_abi.h"
#include "model/ring.h"
#include "model/units.h"

namespace rnicsim {

/// What happened, and the number of the queue or queue pair that it happened to.
struct DeviceEvent {
  abi::EventType type = abi::EventType::kInvalid;
  std::uint32_t object = 0;
  Time delivered;  ///< by the interrupt handler
};

class EventChannel {
 public:
  /// `plane`: whose work reading it is.
  EventChannel(const InterruptConfig& config, Cycles syscall, CpuPlane plane)
      : syscall_(syscall), plane_(plane), sleepers_(config) {}
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  /// From the interrupt handler on `core`, now; returns when it is through with it.
  Time deliver(const DeviceEvent& event, CpuCore& core);
  /// The oldest event, if there is one.
  std::optional<DeviceEvent> poll(CpuTask& task);
  /// The oldest event; sleeps until there is one.
  DeviceEvent wait(CpuTask& task);
  /// The object is gone, and its events with it.
  void forget(abi::EventType type, std::uint32_t object);

 private:
  Cycles syscall_;
  CpuPlane plane_;
  Ring<DeviceEvent> events_;
  WaitQueue sleepers_;
};

}  // namespace rnicsim
