// SPDX-License-Identifier: MIT
// The driver's way to make the NIC do something: one command entry in host RAM, a doorbell
// register, and an owner byte that the NIC clears when it is done (model/nic_abi).
//
// Models: the cycles of writing the entry, the MMIO store, polling for the end. One command at a
// time; programs that come meanwhile sleep and go on in the order in which they came.
// Ignores: interrupt-driven commands, timeouts (a NIC that never answers is a deadlock and is
// reported as one by the run).
#pragma once

#include <cstdint>

#include "host/cpu_core.h"
#include "host/driver_config.h"
#include "host/memory.h"
#include "host/mmio.h"
#include "model/nic_abi.h"
#include "model/ring.h"

namespace rnicsim {

class CommandChannel {
 public:
  CommandChannel(const DriverConfig& config, Memory& memory, MmioPort& mmio)
      : config_(config), memory_(memory), mmio_(mmio) {}

  /// Tells the NIC where the entry stands. Once, before the first execute().
  void open(CpuTask& task, PhysicalAddress entry);
  /// Returns when the NIC has executed the command.
  abi::CommandStatus execute(CpuTask& task, abi::CommandOpcode opcode, std::uint32_t object,
                             PhysicalAddress mailbox = {}, std::uint8_t modifier = 0);
  /// Also guards a mailbox that commands share.
  void lock(CpuTask& task);
  void unlock(CpuTask& task);
  std::uint64_t executed() const { return executed_; }

 private:
  const DriverConfig& config_;
  Memory& memory_;
  MmioPort& mmio_;
  PhysicalAddress entry_;
  CpuTask* holder_ = nullptr;
  unsigned depth_ = 0;
  Ring<CpuTask*> waiting_;
  std::uint64_t executed_ = 0;
};

}  // namespace rnicsim
