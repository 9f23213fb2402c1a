// SPDX-License-Identifier: MIT
// Ordered and relaxed writes at the root complex; tags, training and FLIT mode of its link.
#include <catch2/catch.hpp>

#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::kLinkByte;
using test::LinkBench;
using test::pattern;

namespace {

PcieConfig one_line_at_a_time() {
  PcieConfig config;
  config.ordered_writes = 64_B;
  return config;
}

/// Four writes of 64 B from 1 us on: when they become visible.
std::vector<Time> landings(bool relaxed) {
  LinkBench bench(one_line_at_a_time());
  for (unsigned i = 0; i < 4; ++i) {
    auto& write = bench.device.write(0x1000 + 64 * i, pattern(64, i));
    write.get_extension<DmaExtension>()->relaxed_ordering = relaxed;
    bench.device.start_at(1_us, write);
  }
  bench.run();
  std::vector<Time> times;
  for (const ProbeRecord& record : bench.landings.records) times.push_back(record.time);
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<std::uint8_t> back(64);
    bench.memory.load(PhysicalAddress(0x1000 + 64 * i), back.data(), back.size());
    CHECK(back == pattern(64, i));
  }
  return times;
}

}  // namespace

TEST_CASE("Ordered writes wait for each other when the root complex keeps one line under way") {
  const std::vector<Time> times = landings(false);
  REQUIRE(times.size() == 4);
  // The second arrives 12 ns after the first and begins when the first is visible.
  const Time first_begins = 1_us + kLinkByte.of(24_B) + 150_ns;
  CHECK(times[3] == first_begins + 4 * 110_ns);
  CHECK(times[3] - times[2] == 110_ns);
}

TEST_CASE("Relaxed writes do not") {
  const std::vector<Time> times = landings(true);
  REQUIRE(times.size() == 4);
  for (std::uint64_t i = 0; i < 4; ++i)
    CHECK(times[i] == 1_us + kLinkByte.of(Bytes(88 * (i + 1))) + 260_ns);
}

TEST_CASE("An ordered write is not visible before relaxed ones that were sent before it") {
  MemoryConfig slow;
  slow.bandwidth = BitRate::gbps(8);  // a byte a nanosecond
  LinkBench bench({}, slow);
  auto& payload = bench.device.write(0x2000, pattern(4096));
  payload.get_extension<DmaExtension>()->relaxed_ordering = true;
  bench.device.start_at(1_us, payload);
  bench.device.start_at(1_us, bench.device.write(0x9000, pattern(64)));
  bench.run();
  REQUIRE(bench.landings.records.size() == 2);
  CHECK(bench.landings.records[0].b == 4096);
  CHECK(bench.landings.records[1].time >= bench.landings.records[0].time);
}

TEST_CASE("Tags of 5, 8 and 10 bits are 32, 256 and 768 read requests") {
  PcieConfig config;
  CHECK(config.max_tags() == 768);
  config.tag_bits = 8;
  CHECK(config.max_tags() == 256);
  config.tag_bits = 5;
  CHECK(config.max_tags() == 32);
}

TEST_CASE("A link that was trained down runs at the rate it came to") {
  PcieConfig config;
  config.generation = 4;
  config.lanes = 16;
  CHECK_FALSE(config.is_trained_down());
  CHECK(config.rate() == pcie_tlp_rate(4, 16, 256_B));
  config.trained = PcieTraining{3, 8};
  CHECK(config.is_trained_down());
  CHECK(config.rate() == pcie_tlp_rate(3, 8, 256_B));
}

TEST_CASE("From generation 6 on FLITs carry 236 of 256 B, and TLPs their header alone") {
  CHECK(pcie_flit_rate(6, 8) == BitRate::gbps(472));
  CHECK(pcie_flit_rate(7, 16) == BitRate::gbps(1888));
  PcieConfig config;
  config.generation = 6;
  CHECK(config.rate() == BitRate::gbps(472));
  CHECK(config.format().write_overhead == 16_B);
  CHECK(config.format().read_overhead == 16_B);
  CHECK(config.format().completion_overhead == 12_B);
  config.ecrc = true;
  CHECK(config.format().write_overhead == 20_B);
  config.generation = 5;
  CHECK(config.format().write_overhead == 28_B);
}
