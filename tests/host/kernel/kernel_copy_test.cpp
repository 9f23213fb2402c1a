// SPDX-License-Identifier: MIT
// A core of 1 GHz, so that a cycle is a nanosecond; it copies 8 B a cycle.
#include "host/kernel/kernel_copy.h"

#include <catch2/catch.hpp>

#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

constexpr DmaPurpose kPayload = DmaPurpose::kPayload;

MemoryConfig with_cache() {
  MemoryConfig config = memory_of(1_GiB);
  config.cache.size = 1_MiB;
  return config;
}

/// A line a nanosecond.
MemoryConfig shared() {
  MemoryConfig config = memory_of(1_GiB);
  config.bandwidth = BitRate::gbps(512);
  config.shared_with_copies = true;
  return config;
}

struct Bench {
  explicit Bench(const MemoryConfig& config) : memory(config) {}
  /// What reading costs besides copying.
  Cycles waits(PhysicalAddress from, std::uint64_t bytes) {
    KernelCopy::Stretch stretch(copy, Time());
    stretch.read(from, bytes);
    return stretch.cycles(host.core, 0);
  }
  Cycles waits(VirtualAddress from, std::uint64_t bytes) {
    KernelCopy::Stretch stretch(copy, Time());
    stretch.read(pages, from, bytes);
    return stretch.cycles(host.core, 0);
  }

  SoftwareHost host;
  Memory memory;
  FrameAllocator frames{1_GiB, 1};
  PageTable pages{memory, frames};
  KernelConfig config;
  KernelCopy copy{config, memory};
};

}  // namespace

TEST_CASE("Without a cache every line that a copy reads comes from DRAM") {
  Bench bench(memory_of(1_GiB));
  const Cycles miss = bench.config.copy_miss;
  CHECK(bench.waits(PhysicalAddress(0x1000), 128) == miss * 2);
  CHECK(bench.waits(PhysicalAddress(0x1000), 128) == miss * 2);
  CHECK(bench.waits(PhysicalAddress(0x103f), 2) == miss * 2);
  CHECK(bench.waits(PhysicalAddress(0x1000), 0) == Cycles(0));
  CHECK(bench.copy.lines() == 6);
  CHECK(bench.copy.missed() == 6);
}

TEST_CASE("With one, lines that were read, copied into or left by DMA are not waited for") {
  Bench bench(with_cache());
  const Cycles miss = bench.config.copy_miss;
  CHECK(bench.waits(PhysicalAddress(0x1000), 128) == miss * 2);
  CHECK(bench.waits(PhysicalAddress(0x1000), 192) == miss);
  KernelCopy::Stretch(bench.copy, Time()).write(PhysicalAddress(0x4000), 64);
  CHECK(bench.waits(PhysicalAddress(0x4000), 64) == Cycles(0));
  bench.memory.time_write(Time(), PhysicalAddress(0x8000), 64_B, kPayload);
  CHECK(bench.waits(PhysicalAddress(0x8000), 128) == miss);
}

TEST_CASE("A copy from user memory meets the lines of its pages, wherever these are") {
  Bench bench(with_cache());
  const VirtualAddress at = *bench.pages.map(8_KiB, PageSize::k4KiB);
  const VirtualAddress across(at.value() + 4096 - 64);
  CHECK(bench.waits(across, 128) == bench.config.copy_miss * 2);
  CHECK(bench.waits(*bench.pages.translate(across), 64) == Cycles(0));
  KernelCopy::Stretch(bench.copy, Time()).write(bench.pages, at, 8192);
  CHECK(bench.waits(at, 8192) == Cycles(0));
}

TEST_CASE("A copy takes its bytes' and its misses' cycles, however busy DRAM is, unless shared") {
  MemoryConfig config = shared();
  config.shared_with_copies = false;
  Bench bench(config);
  bench.memory.time_write(Time(), PhysicalAddress(0), 640'000_B, kPayload);
  KernelCopy::Stretch stretch(bench.copy, Time());
  stretch.read(PhysicalAddress(0x100000), 4096);
  stretch.write(PhysicalAddress(0x200000), 4096);
  CHECK(stretch.cycles(bench.host.core, 4096) == Cycles(512 + 64 * 14));
  CHECK(bench.copy.stretch_bytes() == 16384);
}

TEST_CASE("A copy that shares the bandwidth waits for DMA, and DMA for it") {
  Bench bench(shared());
  CHECK(bench.copy.stretch_bytes() == 4096);
  KernelCopy::Stretch alone(bench.copy, 1_us);
  alone.read(PhysicalAddress(0x100000), 4096);
  alone.write(PhysicalAddress(0x200000), 4096);
  CHECK(alone.cycles(bench.host.core, 4096) == Cycles(512 + 64 * 14));  // DRAM needs 128 ns
  CHECK(bench.memory.time_read(1_us, PhysicalAddress(0), 64_B, kPayload).first ==
        1128_ns + bench.memory.config().read_latency);

  bench.memory.time_write(10_us, PhysicalAddress(0), 128'000_B, kPayload);  // until 12 us
  KernelCopy::Stretch behind(bench.copy, 10_us);
  behind.read(PhysicalAddress(0x100000), 4096);
  behind.write(PhysicalAddress(0x200000), 4096);
  CHECK(behind.cycles(bench.host.core, 4096) == Cycles(2128));
}
