// SPDX-License-Identifier: MIT
#include "host/tcp/rtt_estimator.h"

#include <catch2/catch.hpp>

using namespace rnicsim;
using namespace rnicsim::literals;

TEST_CASE("The timeout is the smoothed round trip and four deviations") {
  RttEstimator rtt(Time::s(1), 1_us, Time::s(60));
  CHECK(rtt.timeout() == Time::s(1));
  rtt.sample(100_us);  // deviation 50
  CHECK(rtt.smoothed() == 100_us);
  CHECK(rtt.timeout() == 300_us);
  rtt.sample(180_us);  // deviation (3 x 50 + 80) / 4 = 57.5, smoothed 110
  CHECK(rtt.smoothed() == 110_us);
  CHECK(rtt.timeout() == 340_us);
  rtt.sample(110_us);  // deviation 43.125
  CHECK(rtt.timeout() == 282'500_ns);
}

TEST_CASE("The timeout keeps its bounds, and a microsecond above steady round trips") {
  RttEstimator rtt(Time::s(1), 200_ms, Time::s(2));
  rtt.sample(100_us);
  CHECK(rtt.timeout() == 200_ms);
  rtt.sample(Time::s(100));
  CHECK(rtt.timeout() == Time::s(2));
  RttEstimator steady(Time::s(1), 1_us, Time::s(2));
  for (int i = 0; i < 100; ++i) steady.sample(50_us);
  CHECK(steady.timeout() == 51_us);
}

TEST_CASE("Each timeout doubles the next, up to the longest, until there is a sample") {
  RttEstimator rtt(Time::s(1), 200_ms, Time::s(5));
  rtt.back_off();
  CHECK(rtt.timeout() == Time::s(2));
  rtt.back_off();
  CHECK(rtt.timeout() == Time::s(4));
  for (int i = 0; i < 100; ++i) rtt.back_off();
  CHECK(rtt.timeout() == Time::s(5));
  rtt.sample(1_ms);
  CHECK(rtt.timeout() == 200_ms);
}
