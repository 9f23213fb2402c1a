// SPDX-License-Identifier: MIT
// What a DMA request meets behind the root complex: an IOMMU, a cache, a far node.
#include <catch2/catch.hpp>

#include "host/pcie_link.h"
#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Bench = test::LinkBench;
using test::kLinkByte;

namespace {

MemoryConfig cached_config() {
  MemoryConfig config;
  config.cache.size = 1_MiB;
  config.cache.ways = 16;
  config.cache.ddio_ways = 2;
  return config;
}

/// A read of 64 B whose data are at the root complex after `memory`.
Time read_time(Time memory) {
  const Time line = ByteTime(BitRate::gbps(480)).of(64_B);
  const Time completion = kLinkByte.of(84_B);
  return kLinkByte.of(24_B) + 125_ns + 25_ns + memory + std::max(Time(), line - completion) +
         25_ns + completion + 125_ns;
}

}  // namespace

TEST_CASE("A read that hits in the cache is back by the difference of the latencies sooner") {
  Bench bench({}, cached_config());
  const std::uint8_t byte = 7;
  bench.memory.store(PhysicalAddress(0x1000), &byte, 1);
  auto& hit = bench.device.read(0x1000, 64);
  bench.device.start_at(1_us, hit);
  auto& miss = bench.device.read(0x2000, 64);
  bench.device.start_at(3_us, miss);
  bench.run();
  CHECK(hit.data[0] == 7);
  CHECK(hit.done == 1_us + read_time(125_ns));
  CHECK(miss.done == 3_us + read_time(205_ns));
}

TEST_CASE("A read of bytes that a write is on its way to waits for that write") {
  Bench bench({}, cached_config());
  bench.device.start_at(1_us, bench.device.write(0x1000, std::vector<std::uint8_t>(64, 9)));
  auto& same = bench.device.read(0x1000, 64);
  bench.device.start_at(1001_ns, same);
  bench.run();
  // The request follows the write's 88 B; memory has the write 110 ns after its last byte.
  const Time visible = 1_us + kLinkByte.of(88_B) + 125_ns + 25_ns + 110_ns;
  CHECK(same.done == visible + read_time(125_ns) - kLinkByte.of(24_B) - 150_ns);
  CHECK(same.data == std::vector<std::uint8_t>(64, 9));
}

TEST_CASE("A request waits for the walk of its page, the next one to that page for nothing") {
  IommuConfig config;
  config.mode = IommuMode::kTranslate;
  config.walk_latency = 300_ns;
  Iommu iommu(config);
  Bench bench;
  bench.link.set_iommu(&iommu);
  auto& first = bench.device.read(0x1000, 64);
  bench.device.start_at(1_us, first);
  auto& second = bench.device.read(0x1040, 64);
  bench.device.start_at(3_us, second);
  bench.run();
  CHECK(first.done == 1_us + 300_ns + read_time(205_ns));
  CHECK(second.done == 3_us + read_time(205_ns));
}

TEST_CASE("A write is visible when its page is known, and later writes behind it") {
  IommuConfig config;
  config.mode = IommuMode::kTranslate;
  config.walk_latency = 300_ns;
  Iommu iommu(config);
  Bench bench;
  bench.link.set_iommu(&iommu);
  std::vector<Time> seen;
  struct Watch {
    Bench& bench;
    std::vector<Time>& seen;
    void note() { seen.push_back(bench.scheduler.now()); }
  } watch{bench, seen};
  iommu.translate(Time(), PhysicalAddress(0x2000), 64_B);
  bench.memory.watch(PhysicalAddress(0x1000), call<&Watch::note>(&watch));
  bench.memory.watch(PhysicalAddress(0x2000), call<&Watch::note>(&watch));
  bench.device.start_at(1_us, bench.device.write(0x1000, std::vector<std::uint8_t>(64, 1)));
  bench.device.start_at(1_us, bench.device.write(0x2000, std::vector<std::uint8_t>(64, 2)));
  bench.run();
  const Time begin = 1_us + kLinkByte.of(24_B) + 125_ns + 25_ns;
  const Time line = ByteTime(BitRate::gbps(480)).of(64_B);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0] == begin + 300_ns + line + 110_ns);
  CHECK(seen[1] - seen[0] <= line);
}

TEST_CASE("Memory on the other socket is two hops away for a read") {
  MemoryConfig config;
  config.numa.nodes = 2;
  config.numa.memory_node = 1;
  config.numa.hop_latency = 53_ns;
  Bench bench({}, config);
  auto& read = bench.device.read(0x1000, 64);
  bench.device.start_at(1_us, read);
  bench.run();
  const Time local = read_time(205_ns);
  CHECK(read.done - 1_us >= local + 106_ns);
  CHECK(read.done - 1_us <= local + 106_ns + ByteTime(BitRate::gbps(307)).of(64_B));
}
