// SPDX-License-Identifier: MIT
#include "host/pcie_replay.h"

#include <catch2/catch.hpp>

#include "host/pcie_arithmetic.h"
#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

const ByteTime kByte(BitRate::gbps(64));  // 125 ps a byte

Train writes(std::uint32_t tlps) {
  Train train;
  train.tlps = tlps;
  train.tlp_bytes = 280;
  train.bytes = tlps * 280;
  return train;
}

}  // namespace

TEST_CASE("Every third TLP costs the round trip and itself, in whole TLPs") {
  // 250 ns are 2000 B of wire: with the TLP's own 280 B nine TLPs.
  PcieReplay replay({3, 0, 0, Time()}, kByte, 250_ns, 1);
  Train first = writes(2);
  replay.damage(first);
  CHECK(first.bytes == 2 * 280);
  Train second = writes(2);
  replay.damage(second);
  CHECK(second.bytes == (2 + 9) * 280);
  Train third = writes(5);  // the sixth and the ninth
  replay.damage(third);
  CHECK(third.bytes == (5 + 2 * 9) * 280);
  test::MetricRecorder collected;
  replay.report(MetricScope(collected, "replay"));
  CHECK(collected.values.at("replay.tlps") == 3);
  CHECK(collected.values.at("replay.bytes") == 3 * 9 * 280);
}

TEST_CASE("Where every second NAK is lost, the timer costs instead of the round trip") {
  // 1 us is 8000 B: with the TLP's own 280 B thirty TLPs instead of nine.
  PcieReplay replay({1, 0, 2, 1_us}, kByte, 250_ns, 1);
  Train train = writes(4);
  replay.damage(train);
  CHECK(train.bytes == (4 + 2 * 9 + 2 * 30) * 280);
  test::MetricRecorder collected;
  replay.report(MetricScope(collected, "replay"));
  CHECK(collected.values.at("replay.tlps") == 4);
  CHECK(collected.values.at("replay.timeouts") == 2);
}

TEST_CASE("A damaged read request is late by as much and no longer") {
  PcieReplay replay({1, 0, 0, Time()}, kByte, 250_ns, 1);
  Train read;
  read.kind = TlpClass::kNonPosted;
  read.tlps = 1;
  read.tlp_bytes = 24;
  read.bytes = 24;
  read.eligible = 1_us;
  replay.damage(read);
  CHECK(read.bytes == 24);
  // 2000 + 24 B are 85 requests.
  CHECK(read.eligible == 1_us + kByte.of(Bytes(85 * 24)));
}

TEST_CASE("Bit errors damage as many TLPs as their probability says") {
  PcieReplay replay({0, 1e-6, 0, Time()}, kByte, 250_ns, 1);
  std::uint64_t damaged = 0;
  for (int i = 0; i < 10000; ++i) {
    Train train = writes(10);
    replay.damage(train);
    damaged += (train.bytes / 280 - 10) / 9;
  }
  // 100,000 TLPs of 2,240 bits: 223.7 expected, deviation 15.
  CHECK(damaged > 160);
  CHECK(damaged < 290);
}

TEST_CASE("Without errors nothing is counted or reported") {
  PcieReplay replay({}, kByte, 250_ns, 1);
  CHECK_FALSE(replay.active());
  test::MetricRecorder collected;
  replay.report(MetricScope(collected, "replay"));
  CHECK(collected.values.empty());
}

TEST_CASE("A replayed write is visible later by what its link lost") {
  PcieConfig config;
  config.replay.every = 16;
  test::LinkBench bench(config);
  const auto data = test::pattern(4096);
  bench.device.start_at(1_us, bench.device.write(0x2000, data));
  bench.run();
  std::vector<std::uint8_t> back(4096);
  bench.memory.load(PhysicalAddress(0x2000), back.data(), back.size());
  CHECK(back == data);
  REQUIRE(bench.landings.records.size() == 1);
  // 125 + 125 ns are 1808 B of the link; with the TLP itself eight TLPs of 280 B.
  const Time sent = 1_us + test::kLinkByte.of(Bytes((16 + 8) * 280));
  CHECK(bench.landings.records[0].time == sent + 260_ns);
  CHECK(bench.metrics().at("pcie.upstream.replay.tlps") == 1);
}
