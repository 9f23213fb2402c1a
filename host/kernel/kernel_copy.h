// SPDX-License-Identifier: MIT
// What the last-level cache says of a copy between user and kernel memory: lines of the source that
// it does not hold make the core wait (KernelConfig::copy_miss); lines that are read or written
// stand in it afterwards. Without a cache in the model every line comes from DRAM.
//
// No bytes and no time: the caller moves the ones and charges the other. Ignores: the memory
// bandwidth that copies take (MemoryConfig::cpu_traffic stands for it).
#pragma once

#include <cstdint>

#include "host/kernel/kernel_config.h"
#include "host/memory.h"
#include "host/page_table.h"
#include "model/units.h"

namespace rnicsim {

class KernelCopy {
 public:
  KernelCopy(const KernelConfig& config, Memory& memory) : config_(config), memory_(memory) {}

  /// The cycles that reading costs beside copying.
  Cycles read(PhysicalAddress from, std::uint64_t bytes);
  Cycles read(const PageTable& pages, VirtualAddress from, std::uint64_t bytes);
  void write(PhysicalAddress to, std::uint64_t bytes);
  void write(const PageTable& pages, VirtualAddress to, std::uint64_t bytes);
  std::uint64_t lines() const { return lines_; }
  std::uint64_t missed() const { return missed_; }

 private:
  const KernelConfig& config_;
  Memory& memory_;
  std::uint64_t lines_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace rnicsim
