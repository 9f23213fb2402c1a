// SPDX-License-Identifier: MIT
// DMA writes from the end of the device's link on. Each has 64 B and leaves as the test says.
#include "host/pcie_writes.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::pattern;

namespace {

constexpr std::uint64_t kFar = 0x1000;  ///< on the other node, where there are two

PcieDirectionConfig upstream(const PcieConfig& config) {
  PcieDirectionConfig direction = config.direction(config.latency_up);
  direction.delivery_delay.assign(kDmaEngines, Time());
  return direction;
}

struct Bench {
  explicit Bench(const PcieConfig& config = {}, const MemoryConfig& memory_config = {})
      : memory(memory_config),
        up(scheduler, upstream(config)),
        writes(scheduler, config, around, up, probe) {
    probe.attach(&landings, 1);
  }
  /// Its last byte leaves the device at `end`, its first is at the port 125 ns after that.
  void land(Time end, std::uint64_t address, bool relaxed = false) {
    PcieRequest request;
    request.address = PhysicalAddress(address);
    request.bytes = 64_B;
    request.relaxed = relaxed;
    request.supported = memory.contains(request.address, request.bytes);
    writes.land(request, end + 125_ns, end, pattern(64).data());
  }
  std::vector<Time> run() {
    scheduler.run_until(1_ms);
    CHECK(writes.idle());
    std::vector<Time> times;
    for (const ProbeRecord& record : landings.records) times.push_back(record.time);
    return times;
  }

  Scheduler scheduler{"scheduler"};
  Memory memory;
  PcieSurroundings around{memory};
  PcieDirection up;
  Probe probe;
  test::ProbeRecorder landings;
  PcieWrites writes;
};

/// Pages are near and far in turn; a write to the far ones takes 53 ns longer.
MemoryConfig two_nodes() {
  MemoryConfig config;
  config.numa.nodes = 2;
  config.numa.placement = NumaPlacement::kInterleaved;
  config.numa.hop_latency = 53_ns;
  return config;
}

MemoryConfig cached() {
  MemoryConfig config;
  config.cache.size = 1_MiB;
  config.cache.ways = 16;
  config.cache.ddio_ways = 2;
  config.cache.write_latency = 50_ns;
  return config;
}

PcieConfig one_line_at_a_time() {
  PcieConfig config;
  config.ordered_writes = 64_B;
  return config;
}

/// When the last of four writes that leave 1 ns apart from 1 us on takes effect, and how long after
/// the third.
std::pair<Time, Time> last_of_four(const MemoryConfig& memory, std::uint64_t address) {
  Bench bench(one_line_at_a_time(), memory);
  for (unsigned i = 0; i < 4; ++i) bench.land(1_us + i * 1_ns, address + 64 * i);
  const std::vector<Time> times = bench.run();
  REQUIRE(times.size() == 4);
  return {times[3], times[3] - times[2]};
}

const Time kFirstBegins = 1_us + 125_ns + 25_ns;
/// Of a write to the far node that leaves at 1 us: the way between the nodes takes longer for its
/// bytes than the memory there does.
const Time kFarVisible = kFirstBegins + ByteTime(BitRate::gbps(307)).of(64_B) + 53_ns + 110_ns;

}  // namespace

TEST_CASE("A write takes effect behind link, root complex and memory, with its bytes") {
  Bench bench;
  bench.land(1_us, 0x2000);
  std::vector<std::uint8_t> bytes(64);
  bench.scheduler.run_until(1_us + 259_ns);
  bench.memory.load(PhysicalAddress(0x2000), bytes.data(), 64);
  CHECK(bytes == std::vector<std::uint8_t>(64));
  const Time line = ByteTime(BitRate::gbps(480)).of(64_B);
  CHECK(bench.run() == std::vector<Time>{1_us + 125_ns + 25_ns + line + 110_ns});
  bench.memory.load(PhysicalAddress(0x2000), bytes.data(), 64);
  CHECK(bytes == pattern(64));
}

TEST_CASE("An ordered write waits for an earlier one to a far node") {
  Bench bench({}, two_nodes());
  bench.land(1_us, kFar);
  bench.land(1_us, 0x2000);
  CHECK(bench.run() == std::vector<Time>(2, kFarVisible));
}

TEST_CASE("A relaxed write does not wait for an earlier one to a far node") {
  Bench bench({}, two_nodes());
  bench.land(1_us, kFar);
  bench.land(1_us, 0x2000, true);
  const Time line = ByteTime(BitRate::gbps(480)).of(64_B);
  CHECK(bench.run() == std::vector<Time>{kFirstBegins + line + 110_ns, kFarVisible});
}

TEST_CASE("Memory is asked only for the writes that have arrived") {
  Bench bench;
  bench.land(1_us, 0x2000);
  bench.land(2_us, 0x3000);
  bench.writes.settle(kFirstBegins - 1_ps);
  CHECK(bench.writes.last_visible() == Time());
  bench.writes.settle(kFirstBegins);
  const Time line = ByteTime(BitRate::gbps(480)).of(64_B);
  CHECK(bench.writes.last_visible() == kFirstBegins + line + 110_ns);
  CHECK(bench.memory.written(DmaPurpose::kPayload) == 64_B);
}

TEST_CASE("A read waits for the writes to its own lines where memory knows lines") {
  Bench bench({}, cached());
  bench.land(1_us, 0x2000);
  bench.land(1_us, 0x3000);
  bench.writes.settle(kFirstBegins);
  PcieRequest read;
  read.address = PhysicalAddress(0x203f);
  read.bytes = 64_B;
  CHECK(bench.writes.after_writes_to(read, kFirstBegins) == kFirstBegins + 50_ns);
  read.address = PhysicalAddress(0x2040);
  CHECK(bench.writes.after_writes_to(read, kFirstBegins) == kFirstBegins);
}

TEST_CASE("A write to addresses that nobody has is counted and has no effect") {
  Bench bench;
  bench.land(1_us, std::uint64_t{1} << 50);
  CHECK(bench.run().empty());
  CHECK(bench.writes.faults() == 1);
}

TEST_CASE("Ordered writes to near DRAM follow each other at its latency") {
  CHECK(last_of_four({}, 0x2000) == std::pair(kFirstBegins + 4 * 110_ns, 110_ns));
}

TEST_CASE("Ordered writes to a far node follow each other at its latency and the way there") {
  CHECK(last_of_four(two_nodes(), kFar) == std::pair(kFirstBegins + 4 * 163_ns, 163_ns));
}

TEST_CASE("Ordered writes that the cache takes follow each other at the cache's latency") {
  CHECK(last_of_four(cached(), 0x2000) == std::pair(kFirstBegins + 4 * 50_ns, 50_ns));
}

TEST_CASE("A window of ordered writes loses nothing to rounding") {
  OrderedWindow window(Bytes(192));
  CHECK(window.begin(1_us) == 1_us);
  CHECK(window.take(1_us, 64_B, 100_ns) == 1_us + Time::ps(33'334));
  CHECK(window.take(1_us, 64_B, 100_ns) == 1_us + Time::ps(66'667));
  CHECK(window.take(1_us, 64_B, 100_ns) == 1_us + 100_ns);
  CHECK(window.begin(1_us) == 1_us);
  CHECK(window.begin(2_us) == 2_us);
}
