// SPDX-License-Identifier: MIT
// What a copy between user and kernel memory meets on its way: lines of the source that the
// last-level cache does not hold make the core wait (KernelConfig::copy_miss); lines that are read
// or written stand in it afterwards. Without a cache in the model every line comes from DRAM. With
// MemoryConfig::shared_with_copies the lines that DRAM serves queue there with those of DMA, and a
// copy takes the longer of the core's own time and what that needs.
//
// Connects to: Memory. Moves no bytes and charges no time: the caller does, a stretch at a time.
// Approximates: a stretch asks for all its lines at its beginning; what it waits for while DRAM is
// busy is the bandwidth (a busy channel's longer latency is missing, as in host/dram). Ignores:
// which node the core is on; bandwidth of copies that are not shared (MemoryConfig::cpu_traffic
// stands for it).
#pragma once

#include <cstdint>

#include "host/cpu_core.h"
#include "host/kernel/kernel_config.h"
#include "host/memory.h"
#include "host/page_table.h"
#include "model/units.h"

namespace rnicsim {

class KernelCopy {
 public:
  KernelCopy(const KernelConfig& config, Memory& memory) : config_(config), memory_(memory) {}

  /// Bytes that are copied before softirq may take the core; where DRAM is asked, a page's, so that
  /// DMA queues behind little.
  std::uint64_t stretch_bytes() const { return takes_bandwidth() ? 4096 : 16384; }
  bool takes_bandwidth() const { return memory_.config().shared_with_copies; }

  /// One that begins at `now`: all its reads and writes, then its cycles.
  class Stretch {
   public:
    Stretch(KernelCopy& copy, Time now) : copy_(copy), begin_(now), through_(now) {}
    void read(PhysicalAddress from, std::uint64_t bytes);
    void read(const PageTable& pages, VirtualAddress from, std::uint64_t bytes);
    void write(PhysicalAddress to, std::uint64_t bytes);
    void write(const PageTable& pages, VirtualAddress to, std::uint64_t bytes);
    Cycles cycles(const CpuCore& core, std::uint64_t bytes) const;

   private:
    KernelCopy& copy_;
    Time begin_;
    Time through_;  ///< of DRAM's bandwidth
    std::uint64_t missed_ = 0;
  };

  std::uint64_t lines() const { return lines_; }
  std::uint64_t missed() const { return missed_; }

 private:
  const KernelConfig& config_;
  Memory& memory_;
  std::uint64_t lines_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace rnicsim
