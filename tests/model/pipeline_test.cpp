// SPDX-License-Identifier: MIT
#include "model/pipeline.h"

#include <catch2/catch.hpp>

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

}  // namespace rnicsim
