// SPDX-License-Identifier: MIT
#include "host/memory_bus.h"

namespace rnicsim {

void MemoryBus::signals(const SignalScope& scope) const {
  scope.total("total", Unit::kBytes, "bytes that crossed the memory bus", [this] {
    std::uint64_t lines = 0;
    for (const std::uint64_t of_use : lines_) lines += of_use;
    return lines * kLineBytes;
  });
}

void MemoryBus::report(const MetricScope& scope) const {
  scope.bytes("dma_reads", crossed(BusUse::kDmaRead), "bytes that DRAM gave to DMA, in lines");
  scope.bytes("dma_writes", crossed(BusUse::kDmaWrite), "bytes that DRAM took from DMA, in lines");
  scope.bytes("copy_reads", crossed(BusUse::kCopyRead), "bytes that DRAM gave to copies, in lines");
  scope.bytes("copy_writes", crossed(BusUse::kCopyWrite),
              "bytes that DRAM took from copies or gave for lines they write in part, in lines");
  scope.bytes("write_backs", crossed(BusUse::kWriteBack),
              "bytes of modified lines that left the last-level cache");
  std::uint64_t all = 0;
  for (const std::uint64_t lines : lines_) all += lines;
  scope.bytes("total", Bytes(all * kLineBytes), "bytes that crossed the memory bus");
}

}  // namespace rnicsim
