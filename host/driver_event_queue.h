// SPDX-License-Identifier: MIT
// The driver's event queue: a ring in kernel memory that the NIC fills (model/nic_abi), and the
// interrupt handler that empties it, gives each event to the channel of its object (page faults to
// demand_paging) and arms the queue again.
//
// One for each driver, made when a program first asks for events, its vector on that program's
// core: what happens before is not reported. Models: cycles per entry and for arming (an MMIO
// store). A message that comes while the handler runs changes nothing: arming asks the NIC again.
// Ignores: one queue per core, overrun of the ring (a NIC that writes more than its 1,024 entries
// before the handler has run destroys the oldest).
#pragma once

#include <cstdint>
#include <map>

#include "host/command_channel.h"
#include "host/cpu_core.h"
#include "host/demand_paging.h"
#include "host/driver_config.h"
#include "host/event_channel.h"
#include "host/frame_allocator.h"
#include "host/interrupt_controller.h"
#include "host/memory.h"
#include "host/mmio.h"
#include "host/result.h"
#include "model/nic_abi.h"

namespace rnicsim {

class DriverEventQueue {
 public:
  static constexpr std::uint32_t kEqn = 1;
  static constexpr std::uint8_t kLogEntries = 10;

  DriverEventQueue(const DriverConfig& config, Memory& memory, FrameAllocator& frames,
                   MmioPort& mmio, CommandChannel& commands, InterruptController& interrupts,
                   DemandPaging& paging)
      : config_(config),
        memory_(memory),
        frames_(frames),
        mmio_(mmio),
        commands_(commands),
        interrupts_(interrupts),
        paging_(paging) {}

  /// `mailbox`: guarded by the command channel's lock. Once; later calls only wait for its end.
  Errno open(CpuTask& task, PhysicalAddress mailbox);
  bool is_open() const { return core_ != nullptr; }
  const InterruptConfig& interrupts() const { return interrupts_.config(); }

  /// Whose an object's events are. An event of an object that nobody registered is dropped.
  void subscribe(abi::EventType type, std::uint32_t object, EventChannel* channel) {
    channels_[key(type, object)] = channel;
  }
  void unsubscribe(abi::EventType type, std::uint32_t object);
  std::uint64_t events() const { return consumer_; }

 private:
  static std::uint64_t key(abi::EventType type, std::uint32_t object) {
    return static_cast<std::uint64_t>(type) << 32 | object;
  }
  Errno create(CpuTask& task, PhysicalAddress mailbox);
  void interrupted();
  void handle_next();
  void entry_handled();
  void arm();
  abi::Eqe load_entry() const;

  const DriverConfig& config_;
  Memory& memory_;
  FrameAllocator& frames_;
  MmioPort& mmio_;
  CommandChannel& commands_;
  InterruptController& interrupts_;
  DemandPaging& paging_;
  PhysicalAddress ring_;
  CpuCore* core_ = nullptr;
  std::uint32_t consumer_ = 0;
  bool running_ = false;  ///< the handler
  std::map<std::uint64_t, EventChannel*> channels_;
};

}  // namespace rnicsim
