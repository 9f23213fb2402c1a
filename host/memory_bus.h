// SPDX-License-Identifier: MIT
// What crosses the memory bus of a host, between its DRAM and everything else: bytes in whole lines
// of 64 B, by who caused it. Counts only; time is host/dram's.
//
// Connects to: Memory, which tells it of each access that DRAM serves. With a last-level cache in
// the model those are the lines that it does not hold and the modified ones that leave it; what DMA
// leaves in the cache (DDIO) and a copy finds there never crosses. Without one every access
// crosses: a stream that TCP receives does so three times (DMA in, copy out of the kernel's memory
// and into the program's), one that RDMA receives once.
//
// Models: payload, queues, tables and doorbell records of DMA; the kernel's copies and those of a
// GPU (all of their lines unless MemoryConfig::shared_with_copies, as they meet no cache then);
// what a program's or driver's stores displace. A line that a copy overwrites whole is not fetched
// first, as Intel's fast strings (rep movsb) do it; of one that it writes in part a cache fetches
// the rest. Ignores: all other loads of CPUs (headers, checksums, queues that they poll), lines
// still modified in the cache at the end. Likely error: without a cache an upper bound on machines
// that have DDIO; with one, copies that programs make of a small buffer again and again may stay in
// a core's own cache, which is not modelled.
#pragma once

#include <array>
#include <cstdint>

#include "model/metrics.h"
#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

enum class BusUse : std::uint8_t { kDmaRead, kDmaWrite, kCopyRead, kCopyWrite, kWriteBack };

class MemoryBus {
 public:
  void count(BusUse use, std::uint64_t lines) { lines_[static_cast<unsigned>(use)] += lines; }
  Bytes crossed(BusUse use) const { return Bytes(lines_[static_cast<unsigned>(use)] * kLineBytes); }
  /// Under `scope` ("host.A.memory.bus"): dma_reads, dma_writes, copy_reads, copy_writes,
  /// write_backs, total.
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope) const;

 private:
  static constexpr std::uint64_t kLineBytes = 64;
  std::array<std::uint64_t, 5> lines_{};
};

}  // namespace rnicsim
