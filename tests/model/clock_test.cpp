// SPDX-License-Identifier: MIT
#include "model/clock.h"

#include <catch2/catch.hpp>
#include <random>

namespace rnicsim {

using namespace literals;

TEST_CASE("a clock with a whole period has its edges on it") {
  const Clock clock(Frequency::mhz(250));
  REQUIRE(clock.edge(0) == Time());
  REQUIRE(clock.edge(3) == 12_ns);
  REQUIRE(clock.edge_at_or_after(8_ns) == 8_ns);
  REQUIRE(clock.edge_at_or_after(8001_ps) == 12_ns);
  REQUIRE(clock.after(8001_ps, 2_cycles) == 20_ns);
  REQUIRE(clock.duration(5_cycles) == 20_ns);
}

TEST_CASE("322.265625 MHz does not drift over a thousand million edges") {
  const Clock clock(Frequency(322'265'625));
  // 322,265,625 edges are one second; the period is 3103.0303... ps.
  REQUIRE(clock.edge(1) == 3103_ps);
  REQUIRE(clock.edge(33) == 102'400_ps);
  REQUIRE(clock.edge(322'265'625) == Time::s(1));
  REQUIRE(clock.edge(3 * 322'265'625ULL) == Time::s(3));
  REQUIRE(clock.edge(1'000'000'000).ps() == 3'103'030'303'030);
  REQUIRE(clock.duration(1'000'000'000_cycles).ps() == 3'103'030'303'031);
}

TEST_CASE("each edge is found from its own time, and the next from one picosecond later") {
  std::mt19937_64 random(1);
  for (const std::uint64_t hz : {322'265'625ULL, 156'250'000ULL, 2'600'000'000ULL, 3'300'000'001ULL,
                                 1'000'000'000ULL, 333'333'333ULL, 7ULL}) {
    const Clock clock{Frequency(hz)};
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t n = (random() >> (20 + random() % 44)) % (hz * 1'000'000);
      const Time edge = clock.edge(n);
      REQUIRE(clock.index_at_or_after(edge) == n);
      REQUIRE(clock.index_at_or_after(edge + 1_ps) == n + 1);
      REQUIRE(clock.edge_at_or_after(edge) == edge);
      REQUIRE(clock.after(edge, 3_cycles) == clock.edge(n + 3));
    }
  }
}

TEST_CASE("a duration of cycles rounds up") {
  const Clock clock(Frequency(3'300'000'000));
  REQUIRE(clock.duration(0_cycles) == Time());
  REQUIRE(clock.duration(1_cycles) == 304_ps);
  REQUIRE(clock.duration(33_cycles) == 10_ns);
}

}  // namespace rnicsim
