// SPDX-License-Identifier: MIT
// What crosses the memory bus: exact bytes by cause.
#include "host/memory_bus.h"

#include <catch2/catch.hpp>

#include "host/memory.h"
#include "tests/support/metric_recorder.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

constexpr DmaPurpose kPayload = DmaPurpose::kPayload;

MemoryConfig plain_config() {
  MemoryConfig config;
  config.size = 8_MiB;
  config.bandwidth = BitRate::gbps(512);  // a line a nanosecond
  return config;
}

/// 64 sets of four ways, one of them for DMA writes.
MemoryConfig cached_config(std::uint32_t ddio_ways = 1) {
  MemoryConfig config = plain_config();
  config.cache.size = 16_KiB;
  config.cache.ways = 4;
  config.cache.ddio_ways = ddio_ways;
  return config;
}

PhysicalAddress line(std::uint64_t number) { return PhysicalAddress(number * 64); }

/// In lines: dma_reads, dma_writes, copy_reads, copy_writes, write_backs, total.
std::vector<std::uint64_t> lines(const Memory& memory) {
  auto metrics = test::metrics_of(memory.bus());
  std::vector<std::uint64_t> counts;
  for (const char* name :
       {"dma_reads", "dma_writes", "copy_reads", "copy_writes", "write_backs", "total"}) {
    CHECK(metrics.at(name) % 64 == 0);
    counts.push_back(metrics.at(name) / 64);
  }
  return counts;
}

using Lines = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("Without a cache every access crosses the bus, in whole lines") {
  Memory memory(plain_config());
  memory.time_read(1_us, line(0), 100_B, kPayload);
  memory.time_write(1_us, line(0), 4096_B, kPayload);
  memory.cpu_read(1_us, PhysicalAddress(63), 2_B);
  memory.cpu_write(1_us, line(1), 320_B);
  memory.cpu_write(1_us, line(1), 0_B);
  CHECK(lines(memory) == Lines{2, 64, 2, 5, 0, 73});
  CHECK(test::metrics_of(memory).at("busy") == 66'000);  // what DMA took
}

TEST_CASE("What DMA leaves in the cache and a copy finds there does not cross the bus") {
  Memory memory(cached_config());
  memory.time_write(1_us, line(0), 256_B, kPayload);
  const Memory::CpuAccess hit = memory.cpu_read(2_us, line(0), 256_B);
  CHECK(hit.lines == 4);
  CHECK(hit.missed == 0);
  CHECK(lines(memory) == Lines{0, 0, 0, 0, 0, 0});
  const Memory::CpuAccess half = memory.cpu_read(2_us, line(2), 256_B);
  CHECK(half.lines == 4);
  CHECK(half.missed == 2);
  CHECK(lines(memory) == Lines{0, 0, 2, 0, 0, 2});
  memory.time_read(3_us, line(0), 512_B, kPayload);  // six are there
  CHECK(lines(memory) == Lines{2, 0, 2, 0, 0, 4});
}

TEST_CASE("DMA writes cross the bus without DDIO and with no-snoop, and as victims of others") {
  Memory without(cached_config(0));
  without.time_write(1_us, line(0), 256_B, kPayload);
  CHECK(lines(without) == Lines{0, 4, 0, 0, 0, 4});
  Memory memory(cached_config());
  memory.time_write(1_us, line(0), 256_B, kPayload, false);
  CHECK(lines(memory) == Lines{0, 4, 0, 0, 0, 4});
  memory.time_write(1_us, line(0), 256_B, kPayload);
  memory.time_write(1_us, line(64), 128_B, kPayload);  // the same sets as lines 0 and 1
  CHECK(lines(memory) == Lines{0, 4, 0, 0, 2, 6});
}

TEST_CASE("A line that a copy writes whole is not fetched, one written in part is") {
  Memory memory(cached_config());
  CHECK(memory.cpu_write(1_us, PhysicalAddress(32), 160_B).missed == 3);  // half of line 0
  CHECK(lines(memory) == Lines{0, 0, 0, 1, 0, 1});
  CHECK(memory.cpu_write(1_us, PhysicalAddress(0), 96_B).missed == 0);
  CHECK(lines(memory) == Lines{0, 0, 0, 1, 0, 1});
}

TEST_CASE("Copies displace modified lines, which go to DRAM, and others, which do not") {
  Memory memory(cached_config());
  for (std::uint64_t way = 0; way < 4; ++way) memory.cpu_write(1_us, line(64 * way), 64_B);
  memory.cpu_read(1_us, line(64 * 4), 64_B);   // displaces line 0
  memory.cpu_write(1_us, line(64 * 5), 64_B);  // displaces line 64
  CHECK(lines(memory) == Lines{0, 0, 1, 0, 2, 3});
  memory.cpu_read(1_us, line(64 * 6), 192_B);  // 128 of set 0, and sets 1 and 2 were empty
  CHECK(lines(memory) == Lines{0, 0, 4, 0, 3, 7});
  memory.cpu_read(1_us, line(64 * 7), 64_B);  // 192
  memory.cpu_read(1_us, line(64 * 8), 64_B);  // 256, which was only read
  CHECK(lines(memory) == Lines{0, 0, 6, 0, 4, 10});
}

TEST_CASE("What a driver's or program's stores displace crosses the bus") {
  Memory memory(cached_config());
  const std::uint8_t byte = 1;
  for (std::uint64_t way = 0; way < 5; ++way) memory.store(line(64 * way), &byte, 1);
  CHECK(lines(memory) == Lines{0, 0, 0, 0, 1, 1});
}

TEST_CASE("Copies that share the bandwidth queue with DMA, line for line that DRAM serves") {
  MemoryConfig config = plain_config();
  config.shared_with_copies = true;
  Memory memory(config);
  memory.time_read(1_us, line(0), 6400_B, kPayload);  // until 1100 ns
  CHECK(memory.cpu_read(1_us, PhysicalAddress(63), 2_B).through == 1102_ns);
  CHECK(memory.cpu_write(1_us, line(1), 640_B).through == 1112_ns);
  CHECK(memory.cpu_write(2_us, line(1), 0_B).through == 2_us);
  auto metrics = test::metrics_of(memory);
  CHECK(metrics.at("busy") == 112'000);
  CHECK(metrics.at("copied_from") == 2);
  CHECK(metrics.at("copied_to") == 640);
  CHECK(lines(memory) == Lines{100, 0, 2, 10, 0, 112});
}

TEST_CASE("With a cache they wait for misses and victims only") {
  MemoryConfig config = cached_config();
  config.shared_with_copies = true;
  Memory memory(config);
  memory.time_write(1_us, line(0), 256_B, kPayload);
  CHECK(memory.cpu_read(1_us, line(0), 256_B).through == 1_us);
  CHECK(memory.cpu_read(1_us, line(3), 192_B).through == 1002_ns);
  for (std::uint64_t way = 1; way < 4; ++way) memory.cpu_write(2_us, line(64 * way), 64_B);
  CHECK(memory.cpu_write(2_us, line(64 * 4), 64_B).through == 2001_ns);  // line 0 leaves
  CHECK(test::metrics_of(memory).at("busy") == 3'000);
  CHECK(lines(memory) == Lines{0, 0, 2, 0, 1, 3});
}
