// SPDX-License-Identifier: MIT
#include "host/timer_tick.h"

#include <catch2/catch.hpp>

#include "model/random.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SoftwareHost;

namespace {

constexpr std::uint64_t kSeed = 7;

TimerTickConfig every_100_us() {
  TimerTickConfig config;
  config.interval = 100_us;
  config.work = 2000_cycles;
  return config;
}

/// When the first tick begins.
Time phase() { return Time::ps(Random(kSeed).below((100_us).ps())); }

}  // namespace

TEST_CASE("Nothing begins within a tick, and what a tick interrupts takes longer by it") {
  const Clock clock(Frequency::mhz(1000));
  const TimerTick tick(every_100_us(), clock, kSeed);
  const Time first = phase();
  REQUIRE(first > 1_us);
  CHECK(tick.free_from(first - 1_ns) == first - 1_ns);
  CHECK(tick.free_from(first) == first + 2_us);
  CHECK(tick.free_from(first + 2_us - 1_ps) == first + 2_us);
  CHECK(tick.free_from(first + 2_us) == first + 2_us);
  CHECK(tick.free_from(first + 300_us + 500_ns) == first + 302_us);

  CHECK(tick.end_of(first - 1_us, 1_us) == first);
  CHECK(tick.end_of(first - 1_us, 1_us + 1_ps) == first + 2_us + 1_ps);
  CHECK(tick.end_of(first + 2_us, 98_us) == first + 100_us);
  CHECK(tick.end_of(first + 2_us, 99_us) == first + 103_us);
  CHECK(tick.end_of(first + 2_us, 197_us) == first + 203_us);
}

TEST_CASE("Cores of different seeds tick at different times") {
  const Clock clock(Frequency::mhz(1000));
  const TimerTick other(every_100_us(), clock, kSeed + 1);
  CHECK(other.free_from(phase()) == phase());
}

TEST_CASE("Work and polls of a core wait for its ticks, which are nobody's work") {
  SoftwareHost host;
  CpuConfig config;
  config.frequency = Frequency::mhz(1000);
  config.tick = every_100_us();
  CpuCore core(host.scheduler, config, host.usage, kSeed);
  const Time first = phase();
  CHECK(core.occupy(first - 1_us, CpuPlane::kData, CpuCategory::kApplication, 3000_cycles) ==
        first + 4_us);
  CHECK(core.occupy(first + 100_us, CpuPlane::kData, CpuCategory::kApplication, 10_cycles) ==
        first + 102_us + 10_ns);
  CHECK(core.busy() == 3_us + 10_ns);
  CHECK(test::metrics_of(core).at("stalled.tick") == 4'000'000);
}
