// SPDX-License-Identifier: MIT
#include "nic/congestion/hpcc.h"

#include <catch2/catch.hpp>

#include "tests/nic/congestion/congestion_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::after;

namespace {

constexpr std::uint64_t kLine = 100'000'000'000;

/// A window of 125,000 B at line rate.
HpccConfig config() {
  HpccConfig config;
  config.base_rtt = 10_us;
  config.ai_window = Bytes(100);
  return config;
}

struct Bench : test::CongestionBench {
  Bench() : hpcc(kLine, config()), flow(static_cast<Hpcc::Flow&>(begin(hpcc))) {}
  struct Hop {
    Time time;
    Bytes sent;
    Bytes waiting;
  };
  /// An acknowledgement of what was sent `sent` bytes ago has come, with these records.
  void acknowledge(std::vector<Hop> hops) {
    PacketRef packet = pool.create();
    packet->begin_telemetry();
    const std::uint8_t rate = HopTelemetry::class_of(BitRate::gbps(100));
    for (const Hop& hop : hops)
      packet->add_hop(HopTelemetry::of(rate, hop.time, hop.sent, hop.waiting).encode());
    auto news = after(10_us, hops[0].time);
    news.packet = packet.get();
    flow.acked += 4096;
    flow.sent += 4096;
    hpcc.acknowledged(flow, news);
  }

  PacketPool pool;
  Hpcc hpcc;
  Hpcc::Flow& flow;
};

}  // namespace

TEST_CASE("a queue pair begins with a window of line rate times the base round trip, unpaced") {
  Bench bench;
  CHECK(bench.flow.window == 125'000);
  CHECK(bench.flow.rate == 0);
}

TEST_CASE("the first acknowledgement is only compared with") {
  Bench bench;
  bench.acknowledge({{1_us, 0_B, 1'000'000_B}});
  CHECK(bench.flow.window == 125'000);
}

TEST_CASE("a port that is loaded twice over halves the window, and more for eta") {
  Bench bench;
  bench.acknowledge({{10_us, 0_B, 125'040_B}});
  // 10 us on: 124,928 B sent at 12.5 B/ns is 0.99942, 125,040 B waiting is 1.00032 round trips.
  bench.acknowledge({{20_us, 124'928_B, 125'040_B}});
  const double load = 0.999424 + 1.00032;
  CHECK(bench.flow.load == Approx(load));
  CHECK(bench.flow.window == static_cast<std::uint64_t>(125'000 * 0.95 / load + 100));
  CHECK(bench.flow.rate == static_cast<std::uint64_t>((125'000 * 0.95 / load + 100) * 8 / 10e-6));
}

TEST_CASE("the busiest port of the way counts, and of its queue the smaller of two lengths") {
  Bench bench;
  bench.acknowledge({{10_us, 0_B, 0_B}, {10_us, 0_B, 80_B}});
  bench.acknowledge({{20_us, 62'464_B, 0_B}, {20_us, 99'968_B, 80'000_B}});
  CHECK(bench.flow.load == Approx(99'968. / 125'000 + 80. / 125'000));
}

TEST_CASE("a short interval counts by its share of the base round trip") {
  Bench bench;
  bench.acknowledge({{10_us, 0_B, 0_B}});
  bench.acknowledge({{11_us, 6'272_B, 0_B}});  // half loaded for a tenth of it; 1 before
  CHECK(bench.flow.load == Approx(0.9 + 0.1 * 6'272 / 12'500));
}

TEST_CASE("below eta the window grows by a step each round trip, after max_stage by the load") {
  Bench bench;
  bench.acknowledge({{10_us, 0_B, 125'040_B}});
  bench.acknowledge({{20_us, 124'928_B, 125'040_B}});
  const double low = bench.flow.reference;
  for (std::uint32_t i = 1; i <= 5; ++i) {
    bench.flow.acked = bench.flow.sent;
    bench.acknowledge({{20_us + 10_us * i, 124'928_B + 62'464_B * i, 0_B}});
    CHECK(bench.flow.reference == Approx(low + 100. * i));
  }
  bench.flow.acked = bench.flow.sent;
  bench.acknowledge({{80_us, 124'928_B + 62'464_B * 6, 0_B}});
  CHECK(bench.flow.reference == Approx(std::min(125'000., (low + 500) * 0.95 / 0.499712 + 100)));
}

TEST_CASE("another number of hops is another way: nothing to compare with") {
  Bench bench;
  bench.acknowledge({{10_us, 0_B, 0_B}});
  bench.acknowledge({{20_us, 124'928_B, 800'000_B}, {20_us, 0_B, 0_B}});
  CHECK(bench.flow.window == 125'000);
}

TEST_CASE("records survive their encoding, and counters that wrap give the difference") {
  const auto before =
      HopTelemetry::of(11, Time::ns((1 << 24) - 10), Bytes(128ULL * ((1 << 20) - 2)), 8'000_B);
  const auto now = HopTelemetry::decode(
      HopTelemetry::of(11, Time::ns((1 << 24) + 90), Bytes(128ULL * ((1 << 20) + 3)), 8'080_B)
          .encode());
  CHECK(now.time_since(before) == 100_ns);
  CHECK(now.sent_since(before) == 640_B);
  CHECK(now.waiting_bytes() == 8'080_B);
  CHECK(now.bits_per_second() == 200'000'000'000);
  CHECK(HopTelemetry::class_of(BitRate::gbps(100)) == 10);
  CHECK(HopTelemetry::class_of(BitRate::gbps(99)) == 9);
  CHECK(HopTelemetry::class_of(BitRate(1'000'000)) == 0);
}
