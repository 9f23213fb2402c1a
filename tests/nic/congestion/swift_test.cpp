// SPDX-License-Identifier: MIT
#include "nic/congestion/swift.h"

#include <catch2/catch.hpp>

#include "tests/nic/congestion/congestion_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::after;

namespace {

constexpr std::uint64_t kLine = 100'000'000'000;

SwiftConfig config() {
  SwiftConfig config;
  config.base_target = 20_us;
  config.per_hop = 1_us;
  config.fs_range = 0_us;
  config.max_window = Bytes(40'960);
  return config;
}

struct Bench : test::CongestionBench {
  explicit Bench(const SwiftConfig& config = ::config())
      : swift(kLine, config), flow(static_cast<Swift::Flow&>(begin(swift))) {
    packet = pool.create();
    packet->ipv4.ttl = 62;  // two hops: the target is 22 us
  }
  void rtt(Time time, Time at) {
    auto news = after(time, at);
    news.packet = packet.get();
    swift.acknowledged(flow, news);
  }

  PacketPool pool;
  PacketRef packet;
  Swift swift;
  Swift::Flow& flow;
};

}  // namespace

TEST_CASE("a window begins as large as it may be, and stays so below the target") {
  Bench bench;
  CHECK(bench.flow.window == 40'960);
  bench.rtt(21'999'999_ps, 30_us);
  CHECK(bench.flow.window == 40'960);
  CHECK(bench.flow.rate == 0);
}

TEST_CASE("a delay above the target narrows the window by its share, once a round trip") {
  Bench bench;
  bench.rtt(27'500_ns, 100_us);  // 1 - 0.8 x 5.5 / 27.5
  CHECK(bench.flow.window == 34'406);
  bench.rtt(27'500_ns, 127'499_ns);
  CHECK(bench.flow.window == 34'406);
  bench.rtt(27'500_ns, 127'500_ns);
  CHECK(bench.flow.window == 28'901);
}

TEST_CASE("no cut takes more than its largest share") {
  Bench bench;
  bench.rtt(10_ms, 100_ms);
  CHECK(bench.flow.window == 20'480);
}

TEST_CASE("below the target the window grows by a packet a window") {
  Bench bench;
  bench.rtt(10_ms, 100_ms);
  bench.rtt(10_us, 101_ms);  // 4096 x 4096 / 20480
  CHECK(bench.flow.window == 21'299);
}

TEST_CASE("a window below a packet paces, a packet in as many round trips as it is smaller") {
  Bench bench;
  for (int i = 1; i <= 5; ++i) bench.rtt(100_us, 1_ms * i);
  CHECK(bench.flow.window == 1280);
  CHECK(bench.flow.rate == 1280 * 8 * 10'000);
  bench.rtt(10_us, 7_ms);  // grows by what was acknowledged, in packets
  CHECK(bench.flow.window == 1280 + 4096);
  CHECK(bench.flow.rate == 0);
}

TEST_CASE("small windows have a larger target, large ones none more") {
  SwiftConfig scaled = config();
  scaled.fs_range = 40_us;
  scaled.fs_min_window = Bytes(400);
  scaled.fs_max_window = Bytes(40'000);
  Swift swift(kLine, scaled);
  CHECK(swift.target(40'000, 0) == 20_us);
  CHECK(swift.target(80'000, 3) == 23_us);
  CHECK(swift.target(400, 0) >= 60_us - 1_ps);
  CHECK(swift.target(100, 0) == 60_us);
  // 1/sqrt(1600) = 0.025 of 0.005 to 0.05: 40 us x 0.02 / 0.045
  CHECK(swift.target(1600, 0) == 37'777'777_ps);
}

TEST_CASE("a loss narrows the window, once a round trip") {
  Bench bench;
  bench.rtt(10_us, 100_us);
  bench.swift.lost(bench.flow);
  CHECK(bench.flow.window == 20'480);
  bench.swift.lost(bench.flow);
  CHECK(bench.flow.window == 20'480);
}
