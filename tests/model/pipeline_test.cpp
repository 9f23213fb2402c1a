// SPDX-License-Identifier: MIT
#include "model/pipeline.h"

#include <catch2/catch.hpp>
#include <tuple>
#include <vector>

namespace rnicsim {

using namespace literals;

TEST_CASE("work enters a pipeline an interval after the work before it") {
  const Clock clock(Frequency::mhz(250));
  Pipeline pipeline(clock, {5_cycles, 2_cycles});
  CHECK(pipeline.enter(3_ns) == 24_ns);
  CHECK(pipeline.next_entry(4_ns) == 12_ns);
  CHECK(pipeline.enter(4_ns) == 32_ns);
  CHECK(pipeline.stalled() == 8_ns);
  CHECK(pipeline.blocked() == Time());
}

TEST_CASE("work that takes a pipeline longer than its interval holds up what follows") {
  const Clock clock(Frequency::mhz(250));
  Pipeline pipeline(clock, {5_cycles, 2_cycles});
  CHECK(pipeline.begin(4_ns) == 4_ns);
  pipeline.hold(11_ns);  // the interval ends at 12
  CHECK(pipeline.busy() == 8_ns);
  pipeline.hold(21_ns);
  CHECK(pipeline.busy() == 20_ns);
  CHECK(pipeline.begin(5_ns) == 24_ns);
  CHECK(pipeline.stalled() == 16_ns);
}

TEST_CASE("nothing enters a pipeline while it is blocked, and the time is the fault's") {
  const Clock clock(Frequency::mhz(250));
  Pipeline pipeline(clock, {5_cycles, 1_cycles});
  pipeline.block(50_ns, 70_ns);
  pipeline.block(20_ns, 50_ns);
  CHECK(pipeline.begin(16_ns) == 16_ns);
  CHECK(pipeline.next_entry(20_ns) == 72_ns);
  CHECK(pipeline.begin(20_ns) == 72_ns);
  CHECK(pipeline.blocked() == 52_ns);
  CHECK(pipeline.begin(21_ns) == 76_ns);
  CHECK(pipeline.stalled() == 52_ns);
  CHECK(pipeline.blocked() == 52_ns);
}

TEST_CASE("a pipeline that is watched tells when it is busy, has work waiting or is blocked") {
  struct Sink : StateSink {
    void in_state(std::uint32_t signal, Time from, Time until, std::uint64_t state) override {
      CHECK(signal == 7);
      list.emplace_back(from, until, state);
    }
    Time now() const override { return {}; }
    std::vector<std::tuple<Time, Time, std::uint64_t>> list;
  } sink;
  const Clock clock(Frequency::mhz(250));
  Pipeline pipeline(clock, {5_cycles, 2_cycles});
  Signals signals;
  pipeline.signals(SignalScope(signals, "x"));
  REQUIRE(signals.size() == 1);
  CHECK(signals[0].path == "x.state");
  CHECK(signals[0].states[3] == "blocked");
  signals[0].report->attach(&sink, 7);
  pipeline.block(16_ns, 20_ns);
  pipeline.begin(4_ns);
  pipeline.begin(8_ns);   // from the next free edge
  pipeline.begin(16_ns);  // is free by then, and shut
  pipeline.hold(40_ns);
  using List = decltype(sink.list);
  CHECK(sink.list == List{{4_ns, 24_ns, 1},
                          {8_ns, 12_ns, 2},
                          {12_ns, 32_ns, 1},
                          {16_ns, 20_ns, 2},
                          {20_ns, 40_ns, 1},
                          {28_ns, 40_ns, 1}});
}

}  // namespace rnicsim
