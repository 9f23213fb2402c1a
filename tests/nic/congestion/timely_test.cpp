// SPDX-License-Identifier: MIT
#include "nic/congestion/timely.h"

#include <catch2/catch.hpp>

#include "tests/nic/congestion/congestion_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::after;

namespace {

constexpr std::uint64_t kLine = 10'000'000'000;

struct Bench : test::CongestionBench {
  explicit Bench(const TimelyConfig& config = {})
      : timely(kLine, config), flow(static_cast<Timely::Flow&>(begin(timely))) {}
  void rtt(Time time) { timely.acknowledged(flow, after(time, now += 10_us)); }

  Timely timely;
  Timely::Flow& flow;
  Time now;
};

}  // namespace

TEST_CASE("round trips below the low threshold leave a queue pair at line rate") {
  Bench bench;
  for (int i = 0; i < 10; ++i) bench.rtt(20_us + 2_us * i);
  CHECK(bench.flow.rate == 0);
}

TEST_CASE("a round trip above the high threshold cuts by its distance, whatever its gradient") {
  Bench bench;
  bench.rtt(1000_us);  // 1 - 0.8 (1 - 500/1000)
  CHECK(bench.flow.rate == 6'000'000'000);
  bench.rtt(1000_us);
  CHECK(bench.flow.rate == 3'600'000'000);
}

TEST_CASE("between the thresholds the rate falls by the smoothed gradient") {
  Bench bench;
  bench.rtt(100_us);
  CHECK(bench.flow.rate == 0);
  bench.rtt(104_us);  // difference 0.875 x 4 us, over 20 us: 0.175
  CHECK(bench.flow.rate == 8'600'000'000);
}

TEST_CASE("falling round trips raise the rate by a step, from the fifth on by five") {
  Bench bench;
  bench.rtt(1000_us);
  const std::uint64_t low = bench.flow.speed;
  bench.rtt(400_us);
  CHECK(bench.flow.speed == low + 10'000'000);
  for (int i = 0; i < 3; ++i) bench.rtt(399_us - 1_us * i);
  // The first sample had no gradient either: it is the fifth in a row by now.
  CHECK(bench.flow.falling == 5);
  CHECK(bench.flow.speed == low + 10'000'000 * (1 + 1 + 1 + 5));
}

TEST_CASE("below the low threshold a rising round trip raises the rate all the same") {
  Bench bench;
  bench.rtt(1000_us);
  const std::uint64_t low = bench.flow.speed;
  bench.rtt(10_us);
  bench.rtt(40_us);
  CHECK(bench.flow.speed == low + 20'000'000);
}

TEST_CASE("rates stay between the floor and line rate") {
  Bench bench;
  for (int i = 0; i < 100; ++i) bench.rtt(10_ms);
  CHECK(bench.flow.rate == 10'000'000);
  for (int i = 0; i < 1000; ++i) bench.rtt(10_us);
  CHECK(bench.flow.rate == 0);
  CHECK(bench.flow.speed == kLine);
}

TEST_CASE("an acknowledgement without a time says nothing") {
  Bench bench;
  bench.rtt(Time::never());
  CHECK(bench.flow.last == Time::never());
}
