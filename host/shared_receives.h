// SPDX-License-Identifier: MIT
// The driver's shared receive queues: rings in host RAM, contexts in the NIC's table, and the
// commands that tell the NIC.
//
// Ignores: resizing, protection of one process's queue from another.
#pragma once

#include <cstdint>
#include <optional>

#include "host/command_channel.h"
#include "host/cpu_core.h"
#include "host/driver_config.h"
#include "host/frame_allocator.h"
#include "host/memory.h"
#include "host/numbered.h"
#include "host/result.h"
#include "host/user_receive_queue.h"
#include "model/nic_abi.h"

namespace rnicsim {

/// A shared receive queue, as the process maps it.
struct SrqRings {
  std::uint32_t srqn = 0;
  ReceiveMapping receive;
};

class SharedReceives {
 public:
  SharedReceives(const DriverConfig& config, Memory& memory, FrameAllocator& frames,
                 CommandChannel& commands)
      : config_(config), memory_(memory), frames_(frames), commands_(commands) {}

  /// Where the context table stands in host RAM (2^log_srqs entries).
  void open(PhysicalAddress table) { table_ = table; }
  Result<SrqRings> create(CpuTask& task, PdNumber pd, std::uint8_t log_entries,
                          std::uint8_t log_segments);
  /// EBUSY while a queue pair uses it.
  Errno destroy(CpuTask& task, std::uint32_t srqn);
  /// One event when fewer than `limit` receives are left; 0 = none.
  Errno arm(CpuTask& task, std::uint32_t srqn, std::uint32_t limit);

  bool exists(std::uint32_t srqn) { return queues_.find(srqn) != nullptr; }
  /// A queue pair begins or ends to use it. REQUIRES that it exists.
  void hold(std::uint32_t srqn) { ++queues_.find(srqn)->users; }
  void release(std::uint32_t srqn) { --queues_.find(srqn)->users; }

 private:
  struct Queue {
    ReceiveMapping receive;
    std::uint32_t users = 0;
  };
  PhysicalAddress context_address(std::uint32_t srqn) const {
    return PhysicalAddress(table_.value() + std::uint64_t{srqn} * abi::SrqContext::kBytes);
  }
  void write_context(std::uint32_t srqn, const abi::SrqContext& context);
  void free(std::uint32_t srqn, const ReceiveMapping& receive);

  const DriverConfig& config_;
  Memory& memory_;
  FrameAllocator& frames_;
  CommandChannel& commands_;
  PhysicalAddress table_;
  Numbered<Queue> queues_;
};

}  // namespace rnicsim
