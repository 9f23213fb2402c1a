// SPDX-License-Identifier: MIT
// Expected rates are the paper's formulas, worked out by hand.
#include "nic/congestion/dcqcn.h"

#include <catch2/catch.hpp>

#include "tests/nic/congestion/congestion_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr std::uint64_t kLine = 40'000'000'000;
constexpr std::uint64_t kOne = Dcqcn::kOne;

/// The paper's, with time alone.
DcqcnConfig by_time() {
  DcqcnConfig config;
  config.byte_counter = Bytes(0);
  return config;
}

struct Bench : test::CongestionBench {
  explicit Bench(const DcqcnConfig& config = by_time())
      : dcqcn(scheduler, qps, kLine, config), flow(static_cast<Dcqcn::Flow&>(begin(dcqcn))) {}
  void cnp_at(Time time) {
    at(time, [this] { REQUIRE(dcqcn.notified(flow)); });
  }
  /// Rates just before and at a time.
  void rates_at(Time time, std::uint64_t before, std::uint64_t then) {
    at(time - 1_ps, [this, before] { CHECK(flow.rate == before); });
    at(time + 1_ps, [this, then] { CHECK(flow.rate == then); });
  }
  void run(Time until = 10_ms) { scheduler.run_until(until); }

  Dcqcn dcqcn;
  Dcqcn::Flow& flow;
};

}  // namespace

TEST_CASE("without a CNP a queue pair has line rate, no limiter and no timer") {
  Bench bench;
  bench.run();
  CHECK(bench.flow.rate == 0);
  CHECK(bench.scheduler.callbacks() == 0);
}

TEST_CASE("the first CNP halves the rate: alpha is one") {
  Bench bench;
  bench.cnp_at(10_us);
  bench.at(10_us, [&] {
    CHECK(bench.flow.rate == kLine / 2);
    CHECK(bench.flow.target == kLine);
    CHECK(bench.flow.alpha == kOne);
  });
  bench.run(11_us);
}

TEST_CASE("alpha shrinks by g each alpha timer without a CNP, and grows by it at one") {
  Bench bench;
  bench.cnp_at(0_us);
  const std::uint64_t once = kOne - kOne / 256;
  const std::uint64_t twice = once - once / 256;
  bench.at(54'999'999_ps, [&] { CHECK(bench.flow.alpha == kOne); });
  bench.at(55'000'001_ps, [&] { CHECK(bench.flow.alpha == once); });
  bench.at(110'000'001_ps, [&] { CHECK(bench.flow.alpha == twice); });
  bench.cnp_at(120_us);
  bench.at(120'000'001_ps, [&] { CHECK(bench.flow.alpha == twice - twice / 256 + kOne / 256); });
  // The timer begins anew with the CNP: nothing at 165 us, but at 175 us.
  bench.at(174'999'999_ps, [&] { CHECK(bench.flow.alpha > twice); });
  bench.at(175'000'001_ps, [&] {
    const std::uint64_t raised = twice - twice / 256 + kOne / 256;
    CHECK(bench.flow.alpha == raised - raised / 256);
  });
  bench.run(180_us);
}

TEST_CASE("five rounds of fast recovery halve the way to the target, each a rate timer long") {
  Bench bench;
  bench.cnp_at(0_us);
  bench.cnp_at(50_us);  // target 20, rate 10 Gb/s
  const std::uint64_t rates[] = {10'000'000'000, 15'000'000'000, 17'500'000'000,
                                 18'750'000'000, 19'375'000'000, 19'687'500'000};
  for (int i = 0; i < 5; ++i) bench.rates_at(50_us + 55_us * (i + 1), rates[i], rates[i + 1]);
  // Then the target goes up by 40 Mb/s a round.
  bench.rates_at(50_us + 55_us * 6, rates[5], (19'687'500'000 + 20'040'000'000) / 2);
  bench.rates_at(50_us + 55_us * 7, 19'863'750'000, (19'863'750'000 + 20'080'000'000) / 2);
  bench.run(500_us);
}

TEST_CASE("a CNP cuts by half of alpha and begins the rounds again") {
  Bench bench;
  bench.cnp_at(0_us);
  bench.cnp_at(60_us);  // after one round: 30 Gb/s, alpha 255/256
  bench.at(60'000'001_ps, [&] {
    CHECK(bench.flow.target == 30'000'000'000);
    CHECK(bench.flow.rate == 30'000'000'000 - 30'000'000'000 * 255 / 512);
    CHECK(bench.flow.by_time == 0);
  });
  bench.at(114'999'999_ps, [&] { CHECK(bench.flow.by_time == 0); });
  bench.at(115'000'001_ps, [&] { CHECK(bench.flow.by_time == 1); });
  bench.run(120_us);
}

TEST_CASE("bytes sent raise the rate as time does, and both together faster") {
  DcqcnConfig config;
  config.byte_counter = Bytes(10'000);
  config.threshold = 1;
  Bench bench(config);
  bench.cnp_at(0_us);
  bench.cnp_at(10_us);  // 20 -> 10 Gb/s, target 20
  bench.at(20_us, [&] {
    bench.dcqcn.sent(bench.flow, Bytes(9'999));
    CHECK(bench.flow.rate == 10'000'000'000);
    bench.dcqcn.sent(bench.flow, Bytes(10'001));
    CHECK(bench.flow.rate == 15'000'000'000);  // fast recovery; 10,000 B stay counted
    bench.dcqcn.sent(bench.flow, Bytes(1));
    CHECK(bench.flow.target == 20'040'000'000);  // additive
  });
  // The rate timer at 65 us: T = 1, B = 2, additive; at 120 us both are beyond 1: hyper.
  bench.at(65'000'001_ps, [&] { CHECK(bench.flow.target == 20'080'000'000); });
  bench.at(120'000'001_ps, [&] { CHECK(bench.flow.target == 20'280'000'000); });
  bench.run(130_us);
}

TEST_CASE("a limiter ends within 1/1024 of line rate, and with it its timers") {
  Bench bench;
  bench.cnp_at(0_us);
  bench.rates_at(55_us * 8, 39'843'750'000, 39'921'875'000);
  bench.rates_at(55_us * 9, 39'921'875'000, 0);
  bench.run(496_us);
  const std::uint64_t callbacks = bench.scheduler.callbacks();
  bench.run(700_us);
  CHECK(bench.scheduler.callbacks() <= callbacks + 1);  // the alpha timer that was armed
  const auto metrics = test::metrics_of(bench.dcqcn);
  CHECK(metrics.at("recovered") == 1);
  CHECK(metrics.at("limited") == 0);
  CHECK(metrics.at("limited.max") == 1);
  CHECK(metrics.at("increases") == 9);
}

TEST_CASE("the next limiter begins with the initial alpha again") {
  Bench bench;
  bench.cnp_at(0_us);
  bench.cnp_at(600_us);
  bench.at(600'000'001_ps, [&] { CHECK(bench.flow.rate == kLine / 2); });
  bench.run(601_us);
}

TEST_CASE("no cut goes below the floor, or takes more than the largest share") {
  DcqcnConfig config = by_time();
  config.min_rate = BitRate(9'000'000'000);
  Bench floor(config);
  for (int i = 0; i < 4; ++i) floor.cnp_at(1_us * i);
  floor.at(5_us, [&] { CHECK(floor.flow.rate == 9'000'000'000); });
  floor.run(6_us);
}

TEST_CASE("a cut takes the largest share at most") {
  DcqcnConfig config = by_time();
  config.max_cut = 0.25;
  Bench bench(config);
  bench.cnp_at(0_us);
  bench.at(1_us, [&] { CHECK(bench.flow.rate == kLine / 4 * 3); });
  bench.run(2_us);
}

TEST_CASE("CNPs within the cut interval change nothing") {
  DcqcnConfig config = by_time();
  config.cut_interval = 4_us;
  Bench bench(config);
  bench.cnp_at(0_us);
  bench.cnp_at(3'999'999_ps);
  bench.at(3'999'999_ps, [&] { CHECK(bench.flow.rate == kLine / 2); });
  bench.cnp_at(4_us);
  bench.at(4'000'001_ps, [&] { CHECK(bench.flow.rate == kLine / 4); });
  bench.run(5_us);
}

TEST_CASE("the first CNP may set a rate of its own") {
  DcqcnConfig config = by_time();
  config.rate_on_first_cnp = BitRate(30'000'000'000);
  Bench bench(config);
  bench.cnp_at(0_us);
  bench.at(1_us, [&] {
    CHECK(bench.flow.rate == 30'000'000'000);
    CHECK(bench.flow.target == kLine);
  });
  bench.run(2_us);
}

TEST_CASE("without clamping the target stays until time has raised the rate") {
  DcqcnConfig config = by_time();
  config.clamp_target = false;
  Bench bench(config);
  bench.cnp_at(0_us);
  bench.cnp_at(10_us);
  bench.at(11_us, [&] { CHECK(bench.flow.target == kLine); });
  bench.cnp_at(70_us);  // a round at 65 us: (40 + 10) / 2
  bench.at(71_us, [&] { CHECK(bench.flow.target == 25'000'000'000); });
  bench.run(80_us);
}

TEST_CASE("or, if time does not count, until bytes have") {
  DcqcnConfig config = by_time();
  config.clamp_target = config.clamp_after_timer = false;
  config.byte_counter = Bytes(1000);
  Bench bench(config);
  bench.cnp_at(0_us);
  bench.cnp_at(60_us);
  bench.at(61_us, [&] {
    CHECK(bench.flow.target == kLine);
    bench.dcqcn.sent(bench.flow, Bytes(1000));
  });
  bench.cnp_at(62_us);
  bench.at(63_us, [&] { CHECK(bench.flow.target < kLine); });
  bench.run(64_us);
}

TEST_CASE("a queue pair that is reset is at line rate again") {
  Bench bench;
  bench.cnp_at(0_us);
  bench.at(10_us, [&] {
    bench.dcqcn.begin(bench.flow);
    CHECK(bench.flow.rate == 0);
  });
  bench.cnp_at(20_us);
  bench.at(21_us, [&] { CHECK(bench.flow.rate == kLine / 2); });
  bench.rates_at(75_us, kLine / 2, kLine / 4 * 3);
  bench.run(80_us);
}
