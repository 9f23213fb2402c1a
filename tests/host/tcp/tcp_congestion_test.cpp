// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_congestion.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "host/tcp/tcp_cubic.h"
#include "host/tcp/tcp_dctcp.h"
#include "host/tcp/tcp_hystart.h"
#include "host/tcp/tcp_reno.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Cause = TcpCongestion::Cause;

namespace {

constexpr std::uint64_t kMss = 1000;

TcpCongestion::Acknowledged acked(std::uint64_t bytes, Time now = Time(), Time rtt = Time()) {
  TcpCongestion::Acknowledged news;
  news.now = now;
  news.bytes = bytes;
  news.rtt = rtt;
  return news;
}

}  // namespace

TEST_CASE("Slow start doubles the window each round trip up to the threshold") {
  TcpReno reno;
  reno.begin(kMss, 10);
  CHECK(reno.window() == 10'000);
  reno.grow(acked(10'000));
  CHECK(reno.window() == 20'000);
  reno.cut(Cause::kLoss, 20'000, Time());
  CHECK(reno.window() == 10'000);
  reno.time_out(10'000, Time(), true);
  CHECK(reno.window() == kMss);
  CHECK(reno.threshold() == 5000);
  reno.grow(acked(1000));
  reno.grow(acked(2000));
  CHECK(reno.window() == 4000);
  reno.grow(acked(4000));  // 1000 of it still of slow start
  CHECK(reno.window() == 5000);
}

TEST_CASE("Reno grows by a segment for each window that is acknowledged") {
  TcpReno reno;
  reno.begin(kMss, 10);
  reno.cut(Cause::kLoss, 8000, Time());
  REQUIRE(reno.window() == 4000);
  reno.grow(acked(3999));
  CHECK(reno.window() == 4000);
  reno.grow(acked(1));
  CHECK(reno.window() == 5000);
  reno.grow(acked(5000 + 6000));
  CHECK(reno.window() == 7000);
}

TEST_CASE("A loss leaves two segments at least, and later timeouts of it keep the threshold") {
  TcpReno reno;
  reno.begin(kMss, 10);
  reno.cut(Cause::kLoss, 1000, Time());
  CHECK(reno.window() == 2000);
  reno.grow(acked(20'000));
  reno.time_out(10'000, Time(), true);
  CHECK(reno.threshold() == 5000);
  reno.time_out(1000, Time(), false);
  CHECK(reno.threshold() == 5000);
}

TEST_CASE("A mark halves Reno's window, whatever is in flight") {
  TcpReno reno;
  reno.begin(kMss, 10);
  reno.cut(Cause::kMark, 3000, Time());
  CHECK(reno.window() == 5000);
}

TEST_CASE("The cube root is exact where it can be, and within rounding elsewhere") {
  CHECK(cube_root(0) == 0);
  CHECK(cube_root(27) == 3);
  CHECK(cube_root(1e-6) == Approx(0.01).epsilon(1e-14));
  for (double x = 1e-3; x < 1e9; x *= 1.7)
    CHECK(cube_root(x) == Approx(std::cbrt(x)).epsilon(1e-14));
}

TEST_CASE("CUBIC's window is RFC 9438's function of the time since the loss") {
  CubicConfig config;
  config.reno_friendly = false;
  TcpCubic cubic(config);
  cubic.begin(kMss, 1000);
  cubic.cut(Cause::kLoss, 1'000'000, 0_us);
  REQUIRE(cubic.window() == 700'000);
  // Each acknowledgement of a window's worth brings the window to W(t + rtt).
  constexpr Time kRtt = Time::ms(100);
  double exact = 700;
  for (int i = 0; i < 150; ++i) {
    const Time now = kRtt * i;
    cubic.grow(acked(cubic.window(), now, kRtt));
    const double k = std::cbrt((1000. - 700.) / 0.4);
    const double t = (now + kRtt).as_s();
    const double aim = 0.4 * std::pow(t - k, 3) + 1000;
    exact = std::min(std::max(aim, exact), 1.5 * exact);
    CHECK(static_cast<double>(cubic.window()) == Approx(exact * 1000).epsilon(1e-5));
  }
  CHECK(cubic.k() == Approx(9.0856).epsilon(1e-4));
  CHECK(cubic.window() > 1'000'000);
}

TEST_CASE("CUBIC is no slower than Reno's estimate") {
  TcpCubic cubic(CubicConfig{});
  cubic.begin(kMss, 10);
  cubic.cut(Cause::kLoss, 10'000, 0_us);
  REQUIRE(cubic.window() == 7000);
  // 3 x 0.3 / 1.7 of a segment each window until the window of before the loss is reached.
  double estimate = 7;
  for (int i = 1; i <= 5; ++i) {
    const double window = static_cast<double>(cubic.window()) / 1000;
    cubic.grow(acked(cubic.window(), 10_us * i, 10_us));
    estimate += 3 * 0.3 / 1.7 * (static_cast<std::uint64_t>(window * 1000)) / 1000. / window;
    CHECK(static_cast<double>(cubic.window()) == Approx(estimate * 1000).margin(3));
  }
}

TEST_CASE("A smaller window than at the last loss makes room by fast convergence") {
  for (const bool fast : {true, false}) {
    CubicConfig config;
    config.fast_convergence = fast;
    TcpCubic cubic(config);
    cubic.begin(kMss, 100);
    cubic.cut(Cause::kLoss, 100'000, 0_us);
    CHECK(cubic.w_max() == Approx(100));
    cubic.cut(Cause::kLoss, 70'000, 1_ms);
    CHECK(cubic.w_max() == Approx(fast ? 70 * 1.7 / 2 : 70));
    CHECK(cubic.window() == 49'000);
  }
}

TEST_CASE("After a timeout CUBIC begins its plateau where slow start ends") {
  TcpCubic cubic(CubicConfig{});
  cubic.begin(kMss, 100);
  cubic.time_out(100'000, 0_us, true);
  CHECK(cubic.window() == kMss);
  CHECK(cubic.threshold() == 70'000);
  cubic.grow(acked(69'000 + 1000, 1_ms, 1_us));
  CHECK(cubic.k() == 0);
  CHECK(cubic.w_max() == Approx(70));
  CHECK(cubic.target(2) == Approx(70 + 0.4 * 8));
}

TEST_CASE("DCTCP's alpha follows the share of marked bytes, a window at a time") {
  TcpDctcp dctcp(DctcpConfig{});
  dctcp.begin(kMss, 10);
  CHECK(dctcp.alpha() == 1);
  const auto ack = [&](std::uint64_t una, std::uint64_t high, std::uint64_t bytes, bool marked) {
    TcpCongestion::Acknowledged news = acked(bytes);
    news.una = una;
    news.high = high;
    news.marked = marked;
    dctcp.observe(news);
  };
  ack(1001, 10'001, 1000, false);  // the first window ends with its first acknowledgement
  CHECK(dctcp.alpha() == 0.9375);
  ack(4001, 12'001, 3000, true);
  ack(10'001, 14'001, 6000, false);
  CHECK(dctcp.alpha() == 0.9375);
  ack(11'001, 20'001, 1000, false);  // 3000 of 10000 marked
  CHECK(dctcp.alpha() == Approx(0.9375 * 15 / 16 + 0.3 / 16));
  ack(20'002, 30'001, 9001, true);
  CHECK(dctcp.alpha() == Approx((0.9375 * 15 / 16 + 0.3 / 16) * 15 / 16 + 1. / 16));
}

TEST_CASE("DCTCP cuts by half of alpha for marks, and by half for a loss") {
  DctcpConfig config;
  config.initial_alpha = 0.2;
  TcpDctcp dctcp(config);
  dctcp.begin(kMss, 100);
  dctcp.cut(Cause::kMark, 100'000, Time());
  CHECK(dctcp.window() == 90'000);
  dctcp.cut(Cause::kLoss, 90'000, Time());
  CHECK(dctcp.window() == 45'000);
}

TEST_CASE("Each algorithm goes by its name") {
  TcpConfig config;
  const auto is_a = [&](TcpAlgorithm algorithm, auto* kind) {
    config.algorithm = algorithm;
    const auto made = make_tcp_congestion(config);
    return dynamic_cast<decltype(kind)>(made.get()) != nullptr;
  };
  CHECK(is_a(TcpAlgorithm::kCubic, static_cast<TcpCubic*>(nullptr)));
  CHECK(is_a(TcpAlgorithm::kDctcp, static_cast<TcpDctcp*>(nullptr)));
  CHECK(is_a(TcpAlgorithm::kReno, static_cast<TcpReno*>(nullptr)));
  CHECK_FALSE(is_a(TcpAlgorithm::kReno, static_cast<TcpDctcp*>(nullptr)));
}

namespace {

/// Acknowledges `una` of `high`, at a time, with a smoothed round trip time of 100 us unless said.
TcpCongestion::Acknowledged at(Time now, std::uint64_t una, std::uint64_t high, Time rtt = 100_us) {
  TcpCongestion::Acknowledged news = acked(kMss, now, rtt);
  news.una = una;
  news.high = high;
  return news;
}

}  // namespace

TEST_CASE("Hybrid slow start ends when a train of acknowledgements fills half a round trip") {
  TcpHystart hystart;
  CHECK_FALSE(hystart.observe(at(1000_us, 1, 100), 16));   // the round begins
  CHECK_FALSE(hystart.observe(at(1050_us, 50, 150), 16));  // just half of 100 us
  CHECK(hystart.observe(at(1050_us + Time::ps(1), 60, 160), 16));
}

TEST_CASE("A new round begins a new train, and a small window is left alone") {
  TcpHystart hystart;
  CHECK_FALSE(hystart.observe(at(1000_us, 1, 100), 16));
  CHECK_FALSE(hystart.observe(at(1040_us, 100, 200), 16));
  CHECK_FALSE(hystart.observe(at(1090_us, 101, 300), 16));  // the next round
  CHECK_FALSE(hystart.observe(at(1140_us, 200, 300), 16));
  CHECK_FALSE(hystart.observe(at(1190_us, 300, 300), 15));
  CHECK(hystart.observe(at(1190_us, 300, 300), 16));
}

TEST_CASE("Acknowledgements far apart are no train, but a grown round trip time ends slow start") {
  TcpHystart hystart;
  CHECK_FALSE(hystart.observe(at(1_ms, 1, 100), 16));
  CHECK_FALSE(hystart.observe(at(3_ms + Time::ps(1), 50, 100), 16));
  CHECK_FALSE(hystart.observe(at(6_ms, 60, 100, 4100_us), 16));  // 4 ms more
  CHECK(hystart.observe(at(9_ms, 70, 100, 4101_us), 16));
}

TEST_CASE("CUBIC leaves slow start where its train says so, unless it is told not to") {
  for (const bool hystart : {true, false}) {
    CubicConfig config;
    config.hystart = hystart;
    TcpCubic cubic(config);
    cubic.begin(kMss, 20);
    cubic.observe(at(1000_us, 1, 100));
    cubic.observe(at(1060_us, 50, 150));
    CHECK(cubic.in_slow_start() == !hystart);
    CHECK(cubic.threshold() == (hystart ? cubic.window() : ~std::uint64_t{0}));
  }
}
