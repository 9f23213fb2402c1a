// SPDX-License-Identifier: MIT
#include "host/memory.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "model/invariant.h"
#include "tests/support/metric_recorder.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

MemoryConfig small_config() {
  MemoryConfig config;
  config.size = 8_MiB;
  config.bandwidth = BitRate::gbps(512);  // 64 B a nanosecond
  config.read_latency = 200_ns;
  config.write_latency = 100_ns;
  return config;
}

struct Log {
  std::vector<std::uint64_t> seen;
  void note(std::uint64_t n) { seen.push_back(n); }
};

}  // namespace

TEST_CASE("Memory that was never written reads as zeros") {
  const Memory memory(small_config());
  std::vector<std::uint8_t> data(5000, 7);
  memory.load(PhysicalAddress(4000), data.data(), data.size());
  CHECK(data == std::vector<std::uint8_t>(5000, 0));
}

TEST_CASE("Bytes come back at any alignment, over frames and tables") {
  Memory memory(small_config());
  std::vector<std::uint8_t> data(3 << 20);
  std::iota(data.begin(), data.end(), std::uint8_t{3});
  memory.store(PhysicalAddress(1001), data.data(), data.size());
  std::vector<std::uint8_t> back(data.size());
  memory.load(PhysicalAddress(1001), back.data(), back.size());
  CHECK(back == data);
  std::uint8_t edge[2] = {9, 9};
  memory.load(PhysicalAddress(1000), edge, 2);
  CHECK(edge[0] == 0);
  CHECK(edge[1] == 3);
}

TEST_CASE("An access beyond the end is a broken invariant") {
  Memory memory(small_config());
  std::uint8_t byte = 0;
  memory.load(PhysicalAddress((8 << 20) - 1), &byte, 1);
  CHECK_THROWS_AS(memory.load(PhysicalAddress(8 << 20), &byte, 1), InvariantBroken);
  CHECK_THROWS_AS(memory.store(PhysicalAddress(8 << 20), &byte, 1), InvariantBroken);
  CHECK(memory.contains(PhysicalAddress(8 << 20), 0_B));
  CHECK_FALSE(memory.contains(PhysicalAddress(~std::uint64_t{0}), 2_B));
}

TEST_CASE("A read's data come after the latency, its last line after its bandwidth") {
  Memory memory(small_config());
  const Memory::Access one = memory.time_read(1_us, PhysicalAddress(0), 64_B, DmaPurpose::kPayload);
  CHECK(one.first.ps() == (1200_ns).ps());
  CHECK(one.last.ps() == (1201_ns).ps());
  const Memory::Access page =
      memory.time_read(2_us, PhysicalAddress(0), 4096_B, DmaPurpose::kPayload);
  CHECK(page.first.ps() == (2200_ns).ps());
  CHECK(page.last.ps() == (2264_ns).ps());
}

TEST_CASE("Reads and writes share the bandwidth in the order of their arrival") {
  Memory memory(small_config());
  memory.time_read(1_us, PhysicalAddress(0), 4096_B, DmaPurpose::kPayload);
  const Memory::Access write =
      memory.time_write(1010_ns, PhysicalAddress(0), 100_B, DmaPurpose::kCompletionQueue);
  CHECK(write.first.ps() == (1064_ns).ps());
  CHECK(write.last.ps() == (1064_ns + 2_ns + 100_ns).ps());  // two whole lines
  memory.time_read(1066_ns, PhysicalAddress(0), 64_B,
                   DmaPurpose::kPayload);  // the others are through
  auto metrics = test::metrics_of(memory);
  CHECK(metrics.at("busy") == 67'000);
  CHECK(metrics.at("stalled.bandwidth") == 54'000);
  CHECK(metrics.at("occupancy.max") == 2);
}

TEST_CASE("A watch runs once, when a DMA write touches its line") {
  Memory memory(small_config());
  Log log;
  memory.watch(PhysicalAddress(128), call<&Log::note>(&log, 1));
  memory.watch(PhysicalAddress(4160), call<&Log::note>(&log, 2));
  memory.watch(PhysicalAddress(191), call<&Log::note>(&log, 3));
  memory.wrote(PhysicalAddress(64), 64_B);
  CHECK(log.seen.empty());
  memory.wrote(PhysicalAddress(100), 29_B);
  CHECK(log.seen == std::vector<std::uint64_t>{1, 3});
  memory.wrote(PhysicalAddress(0), 8192_B);
  CHECK(log.seen == std::vector<std::uint64_t>{1, 3, 2});
  memory.wrote(PhysicalAddress(0), 8192_B);
  CHECK(log.seen.size() == 3);
}

TEST_CASE("A watch may be set again from its own callback") {
  struct Poller {
    Memory& memory;
    int calls = 0;
    void again() {
      ++calls;
      memory.watch(PhysicalAddress(0), call<&Poller::again>(this));
    }
  };
  Memory memory(small_config());
  Poller poller{memory};
  poller.again();
  memory.wrote(PhysicalAddress(0), 8_B);
  CHECK(poller.calls == 2);
  memory.wrote(PhysicalAddress(0), 8_B);
  CHECK(poller.calls == 3);
}
