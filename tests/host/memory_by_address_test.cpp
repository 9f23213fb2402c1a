// SPDX-License-Identifier: MIT
// What an access meets: cache, channel, node.
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
  config.read_latency = 200_ns;
  config.write_latency = 100_ns;
  return config;
}

/// 64 sets of four ways, one of them for DMA writes.
MemoryConfig cached_config(std::uint32_t ddio_ways = 1) {
  MemoryConfig config = plain_config();
  config.cache.size = 16_KiB;
  config.cache.ways = 4;
  config.cache.ddio_ways = ddio_ways;
  config.cache.read_latency = 120_ns;
  config.cache.write_latency = 90_ns;
  config.cache.eviction_latency = 70_ns;
  return config;
}

MemoryConfig two_nodes() {
  MemoryConfig config = plain_config();
  config.numa.nodes = 2;
  config.numa.hop_latency = 50_ns;
  config.numa.hop_bandwidth = BitRate::gbps(256);  // a line in two nanoseconds
  return config;
}

PhysicalAddress line(std::uint64_t number) { return PhysicalAddress(number * 64); }

}  // namespace

TEST_CASE("Requests with no-snoop meet DRAM, whatever the cache has") {
  Memory memory(cached_config());
  const std::uint8_t byte = 1;
  memory.store(line(5), &byte, 1);
  const Memory::Access read = memory.time_read(1_us, line(5), 64_B, kPayload, false);
  CHECK(read.first == 1200_ns);
  CHECK(read.last == 1201_ns);
  const Memory::Access write = memory.time_write(2_us, line(5), 64_B, kPayload, false);
  CHECK(write.last == 2101_ns);
}

TEST_CASE("A read of what a CPU stored is as fast as the cache, one of other lines as DRAM") {
  Memory memory(cached_config());
  const std::uint8_t byte = 1;
  memory.store(line(5), &byte, 1);
  const Memory::Access hit = memory.time_read(1_us, line(5), 64_B, kPayload);
  CHECK(hit.first == 1120_ns);
  CHECK(hit.last == 1120_ns);
  CHECK(hit.latency == 120_ns);
  const Memory::Access miss = memory.time_read(2_us, line(6), 64_B, kPayload);
  CHECK(miss.first == 2200_ns);
  CHECK(miss.last == 2201_ns);
  const Memory::Access both = memory.time_read(3_us, line(5), 128_B, kPayload);
  CHECK(both.first == 3120_ns);
  CHECK(both.last == 3201_ns);
  CHECK(both.latency == 200_ns);
  CHECK(test::metrics_of(memory).at("busy") == 2'000);
}

TEST_CASE("DRAM counts the requests that a cache sends it, not their lines") {
  Memory memory(cached_config());
  memory.time_read(1_us, line(8), 256_B, kPayload);  // four lines, one after the other
  CHECK(test::metrics_of(memory).at("stalled.bandwidth") == 0);
  CHECK(test::metrics_of(memory).at("occupancy.max") == 1);
  memory.time_read(1_us, line(128), 128_B, kPayload);
  auto metrics = test::metrics_of(memory);
  CHECK(metrics.at("busy") == 6'000);
  CHECK(metrics.at("stalled.bandwidth") == 4'000);
  CHECK(metrics.at("occupancy.max") == 2);
  memory.time_write(2_us, line(200), 64_B, kPayload);  // stays in the cache
  CHECK(test::metrics_of(memory).at("occupancy.max") == 2);
}

TEST_CASE("What nobody's CPU stored is not in the cache") {
  Memory memory(cached_config());
  const std::uint8_t byte = 1;
  memory.poke(line(5), &byte, 1);
  CHECK(memory.time_read(1_us, line(5), 64_B, kPayload).first == 1200_ns);
}

TEST_CASE("A DMA write stays in the cache, where a read finds it") {
  Memory memory(cached_config());
  const Memory::Access write = memory.time_write(1_us, line(5), 64_B, kPayload);
  CHECK(write.last == 1090_ns);
  CHECK(memory.least_write_latency() == 90_ns);
  CHECK(memory.time_read(2_us, line(5), 64_B, kPayload).last == 2120_ns);
  CHECK(test::metrics_of(memory).at("busy") == 0);
}

TEST_CASE("A DMA write that displaces a modified line waits and takes bandwidth") {
  Memory memory(cached_config());
  memory.time_write(1_us, line(5), 64_B, kPayload);
  const Memory::Access write = memory.time_write(2_us, line(5 + 64), 64_B, kPayload);
  CHECK(write.last == 2160_ns);
  CHECK(write.latency == 160_ns);
  CHECK(test::metrics_of(memory).at("busy") == 1'000);
}

TEST_CASE("Without DDIO writes go to DRAM") {
  Memory memory(cached_config(0));
  CHECK(memory.least_write_latency() == 100_ns);
  CHECK(memory.time_write(1_us, line(5), 128_B, kPayload).last == 1102_ns);
  CHECK(memory.time_read(2_us, line(5), 64_B, kPayload).first == 2200_ns);
}

TEST_CASE("Memory of another node is two hops away for a read and one for a write") {
  MemoryConfig config = two_nodes();
  config.numa.memory_node = 1;
  Memory memory(config);
  const Memory::Access read = memory.time_read(1_us, line(0), 128_B, kPayload);
  CHECK(read.first == 1300_ns);
  CHECK(read.last == 1304_ns);  // two lines between the nodes
  CHECK(read.latency == 300_ns);
  const Memory::Access write = memory.time_write(2_us, line(0), 64_B, kPayload);
  CHECK(write.last == 2152_ns);
  CHECK(write.latency == 150_ns);
  auto metrics = test::metrics_of(memory);
  CHECK(metrics.at("numa.crossed") == 192);
  CHECK(metrics.at("numa.to_device.busy") == 4'000);
  CHECK(metrics.at("numa.to_memory.busy") == 2'000);
  CHECK(metrics.at("numa.stalled.bandwidth") == 0);
}

TEST_CASE("Interleaved pages are near and far in turn, each node with bandwidth of its own") {
  MemoryConfig config = two_nodes();
  config.numa.placement = NumaPlacement::kInterleaved;
  Memory memory(config);
  CHECK(memory.time_read(1_us, PhysicalAddress(0), 4096_B, kPayload).first == 1200_ns);
  CHECK(memory.time_read(1_us, PhysicalAddress(4096), 64_B, kPayload).first == 1300_ns);
  CHECK(memory.time_read(1_us, PhysicalAddress(8192), 64_B, kPayload).first == 1264_ns);
  auto metrics = test::metrics_of(memory);
  CHECK(metrics.at("node0.busy") == 65'000);
  CHECK(metrics.at("node1.busy") == 1'000);
}

TEST_CASE("What CPUs take of the bandwidth is missing for DMA") {
  MemoryConfig config = plain_config();
  config.cpu_traffic = BitRate::gbps(384);
  Memory memory(config);
  const Memory::Access read = memory.time_read(1_us, line(0), 128_B, kPayload);
  CHECK(read.first == 1200_ns);
  CHECK(read.last == 1208_ns);
}
