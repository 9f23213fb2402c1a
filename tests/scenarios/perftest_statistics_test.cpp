// SPDX-License-Identifier: MIT
#include "scenarios/engine/perftest_statistics.h"

#include <catch2/catch.hpp>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// Posts whose distances are given.
PerftestTimes posts(const std::vector<Time>& distances) {
  PerftestTimes times;
  times.posted.push_back(Time());
  for (const Time distance : distances) times.posted.push_back(times.posted.back() + distance);
  return times;
}

}  // namespace

TEST_CASE("the average runs from the first post to the last completion") {
  PerftestTimes times;
  times.posted = {1_us, 2_us, 3_us, 4_us};
  times.completed = {Time::never(), 5_us, Time::never(), 9_us};
  const BandwidthResult result = bandwidth_of(times, Bytes(1000));
  CHECK(result.messages == 4);
  CHECK(result.rate == Approx(4 / 8e-6));
  CHECK(result.average == Approx(4 * 8000 / 8e-6));
}

TEST_CASE("the peak is the best stretch from a post to a completion that was asked for") {
  PerftestTimes times;
  times.posted = {1_us, 2_us, 3_us, 4_us};
  times.completed = {Time::never(), 3_us, Time::never(), 9_us};
  // Messages 0 and 1 took 2 us, message 1 alone took 1 us, all four 8 us.
  CHECK(bandwidth_of(times, Bytes(1000)).peak == Approx(8000 / 1e-6));
  times.completed[1] = Time::never();
  CHECK(bandwidth_of(times, Bytes(1000)).peak == Approx(4 * 8000 / 8e-6));
}

TEST_CASE("beyond 20,000 messages there is no peak") {
  PerftestTimes times;
  times.posted.assign(20001, 1_us);
  times.completed.assign(20001, 2_us);
  CHECK(bandwidth_of(times, Bytes(1)).peak == 0);
  times.posted.pop_back();
  times.completed.pop_back();
  CHECK(bandwidth_of(times, Bytes(1)).peak > 0);
}

TEST_CASE("two directions add up") {
  const BandwidthResult both = BandwidthResult{10, 3, 2, 1} + BandwidthResult{10, 30, 20, 10};
  CHECK(both.messages == 10);
  CHECK(both.peak == 33);
  CHECK(both.average == 22);
  CHECK(both.rate == 11);
}

TEST_CASE("latency leaves out the two longest and halves what went there and back") {
  const LatencyResult there_and_back =
      latency_of(posts({6_us, 2_us, 100_us, 4_us, 8_us, 50_us}), 2);
  CHECK(there_and_back.messages == 7);
  CHECK(there_and_back.min == 1_us);
  CHECK(there_and_back.typical == Time::ns(2500));  // between 2 and 3 us
  CHECK(there_and_back.max == 25_us);               // as perftest has it: the first left out
  CHECK(there_and_back.average == Approx(2.5e6));
  CHECK(there_and_back.deviation == Approx(1.118034e6));
  CHECK(there_and_back.p99 == 25_us);
  const LatencyResult once = latency_of(posts({6_us, 2_us, 100_us, 4_us, 50_us}), 1);
  CHECK(once.min == 2_us);
  CHECK(once.typical == 4_us);
}

TEST_CASE("percentiles are the values at ceil(n x 0.99) and ceil(n x 0.999)") {
  std::vector<Time> distances;
  for (int i = 0; i < 1002; ++i) distances.push_back(Time::ns(i));
  const LatencyResult result = latency_of(posts(distances), 1);
  CHECK(result.p99 == 990_ns);
  CHECK(result.p999 == 999_ns);
  CHECK(result.max == 1000_ns);
}
