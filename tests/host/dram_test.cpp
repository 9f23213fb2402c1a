// SPDX-License-Identifier: MIT
#include "host/dram.h"

#include <catch2/catch.hpp>

#include "tests/support/metric_recorder.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

constexpr BitRate kLinePerNanosecond = BitRate::gbps(512);

}  // namespace

TEST_CASE("One channel takes accesses in the order of their arrival, in whole lines") {
  Dram dram(kLinePerNanosecond, 1, 256_B);
  const Dram::Span first = dram.move(1_us, 0, 4096_B);
  CHECK(first.start == 1_us);
  CHECK(first.end == 1064_ns);
  const Dram::Span second = dram.move(1010_ns, 1 << 20, 65_B);
  CHECK(second.start == 1064_ns);
  CHECK(second.end == 1066_ns);
  auto metrics = test::metrics_of(dram);
  CHECK(metrics.at("busy") == 66'000);
  CHECK(metrics.at("stalled.bandwidth") == 54'000);
  CHECK(metrics.at("occupancy.max") == 2);
}

TEST_CASE("A request that comes in parts is counted as one") {
  Dram dram(kLinePerNanosecond, 1, 256_B);
  dram.move(1_us, 0, 1024_B);  // until 1016 ns
  const Dram::Span first = dram.move_part(1_us, 4096, 64_B);
  const Dram::Span second = dram.move_part(1_us, 8192, 64_B);
  dram.count_request(1_us, {first.start, second.end});
  auto metrics = test::metrics_of(dram);
  CHECK(metrics.at("busy") == 18'000);
  CHECK(metrics.at("stalled.bandwidth") == 16'000);
  CHECK(metrics.at("occupancy.max") == 2);
}

TEST_CASE("Of four channels each has a quarter of the bandwidth, and addresses take them in turn") {
  Dram dram(kLinePerNanosecond, 4, 256_B);
  // Alone on its channel a line takes four times as long; 1 KiB is spread over all four.
  CHECK(dram.move(1_us, 0, 64_B).end == 1004_ns);
  CHECK(dram.move(2_us, 0, 1024_B).end == 2016_ns);
  // Neighbours on one channel wait for each other, those on two do not.
  CHECK(dram.move(3_us, 0, 256_B).end == 3016_ns);
  CHECK(dram.move(3_us, 64, 64_B).start == 3016_ns);
  CHECK(dram.move(3_us, 256, 64_B).start == 3_us);
}

TEST_CASE("An access from the middle of a channel's piece goes on with the next channel") {
  Dram dram(kLinePerNanosecond, 2, 256_B);
  const Dram::Span span = dram.move(1_us, 192, 256_B);  // one line, then three
  CHECK(span.start == 1_us);
  CHECK(span.end == 1006_ns);
  CHECK(dram.move(1_us, 0, 64_B).start == 1002_ns);
}
