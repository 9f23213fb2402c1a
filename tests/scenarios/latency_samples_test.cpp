// SPDX-License-Identifier: MIT
#include "scenarios/engine/latency_samples.h"

#include <catch2/catch.hpp>

using namespace rnicsim;

namespace {

constexpr Time ns(std::int64_t n) { return Time::ns(n); }

/// That long, half of it serialisation; `pause` more of it.
MessageTimes message(std::uint64_t number, Time takes, Time pause = Time()) {
  MessageTimes times;
  times.work_request = number;
  times.begin = ns(5);
  times.end = times.begin + takes;
  times.stages[static_cast<std::size_t>(Stage::kSerialisation)] = takes - pause;
  times.stages[static_cast<std::size_t>(Stage::kPause)] = pause;
  return times;
}

const StageSpread& of(const WorkloadLatency& latency, Stage stage) {
  return latency.stages[static_cast<std::size_t>(stage)];
}

}  // namespace

TEST_CASE("percentiles of a stage are over all messages, those without it included") {
  LatencySamples samples(1000);
  for (std::uint64_t i = 0; i < 100; ++i) {
    REQUIRE(samples.wants_next());
    samples.add(i, message(i, ns(100 + static_cast<std::int64_t>(i)), i >= 80 ? ns(50) : ns(0)));
  }
  const WorkloadLatency latency = samples.result("w");
  CHECK(latency.workload == "w");
  CHECK(latency.messages == 100);
  CHECK(latency.left_out == 0);
  CHECK(latency.whole.p50 == ns(149));
  CHECK(latency.whole.p90 == ns(189));
  CHECK(latency.whole.p99 == ns(198));
  CHECK(latency.whole.max == ns(199));
  CHECK(latency.whole.mean == Time::ps(149500));
  CHECK(latency.whole.share == 1);
  const StageSpread& pause = of(latency, Stage::kPause);
  CHECK(pause.messages == 20);
  CHECK(pause.p50 == ns(0));
  CHECK(pause.p90 == ns(50));
  CHECK(pause.mean == ns(10));
  CHECK(pause.share == Approx(1000.0 / 14950));
  CHECK(of(latency, Stage::kAck).messages == 0);
  REQUIRE(latency.ranked.size() == 4);
  CHECK(latency.ranked[0].work_request == 49);
  CHECK(latency.ranked[1].work_request == 89);
  CHECK(latency.ranked[2].work_request == 98);
  CHECK(latency.ranked[3].work_request == 99);
}

TEST_CASE("of more messages than are kept every second is, from the first on to the last") {
  LatencySamples samples(4);
  std::uint64_t followed = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    if (!samples.wants_next()) continue;
    ++followed;
    samples.add(i, message(i, ns(static_cast<std::int64_t>(i) + 1)));
  }
  const WorkloadLatency latency = samples.result("w");
  CHECK(followed == 9);  // 0 to 4, 6, 8, 12, 16
  CHECK(latency.messages == 3);
  CHECK(latency.left_out == 17);
  CHECK(latency.whole.p50 == ns(9));
  CHECK(latency.whole.max == ns(17));
  CHECK(latency.ranked[0].work_request == 8);
}

TEST_CASE("a message that began when all were wanted and ends when not is left out") {
  LatencySamples samples(2);
  for (int i = 0; i < 4; ++i) samples.wants_next();
  for (const std::uint64_t i : {0, 1, 2, 3}) samples.add(i, message(i, ns(10)));
  CHECK(samples.result("w").messages == 2);
  CHECK(samples.result("w").left_out == 2);
}

TEST_CASE("a workload without messages has neither times nor ranks") {
  const WorkloadLatency latency = LatencySamples(10).result("w");
  CHECK(latency.messages == 0);
  CHECK(latency.ranked.empty());
  CHECK(latency.whole.max == Time());
}
