// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_cubic.h"

#include <algorithm>

namespace rnicsim {

double cube_root(double x) {
  if (x <= 0) return 0;
  double root = x < 1 ? 1 : x;  // above the root, from where Newton's steps fall until they cannot
  for (;;) {
    const double next = (2 * root + x / (root * root)) / 3;
    if (next >= root) return root;
    root = next;
  }
}

double TcpCubic::segments(std::uint64_t bytes) const {
  return static_cast<double>(bytes) / static_cast<double>(mss());
}

double TcpCubic::target(double seconds) const {
  const double from_plateau = seconds - k_;
  return config_.c * from_plateau * from_plateau * from_plateau + w_max_;
}

void TcpCubic::observe(const Acknowledged& news) {
  if (!config_.hystart || !in_slow_start()) return;
  if (hystart_.observe(news, window() / mss())) leave_slow_start();
}

void TcpCubic::started() {
  hystart_ = {};
  in_epoch_ = after_loss_ = false;
  w_max_ = w_prior_ = 0;
}

std::uint64_t TcpCubic::reduced(Cause cause, std::uint64_t in_flight, Time /*now*/) {
  in_epoch_ = false;
  hystart_ = {};
  after_loss_ = cause != Cause::kTimeout;
  const double before = segments(window());
  w_prior_ = before;
  w_max_ = config_.fast_convergence && before < w_max_ ? before * (1 + config_.beta) / 2 : before;
  const std::uint64_t base = cause == Cause::kMark ? window() : in_flight;
  return static_cast<std::uint64_t>(static_cast<double>(base) * config_.beta);
}

void TcpCubic::begin_epoch(Time now) {
  in_epoch_ = true;
  epoch_ = now;
  exact_ = segments(window());
  estimate_ = exact_;
  if (after_loss_ && exact_ < w_max_) {
    k_ = cube_root((w_max_ - exact_) / config_.c);
  } else {
    k_ = 0;
    w_max_ = exact_;
  }
  after_loss_ = false;
}

std::uint64_t TcpCubic::avoid(std::uint64_t bytes, const Acknowledged& news) {
  if (!in_epoch_) begin_epoch(news.now);
  // Idle time has changed the window behind our back.
  if (static_cast<std::uint64_t>(exact_ * static_cast<double>(mss())) != window())
    exact_ = segments(window());
  const double acked = segments(bytes);
  const double t = (news.now - epoch_).as_s();
  const double aim = std::clamp(target(t + news.rtt.as_s()), exact_, 1.5 * exact_);
  const double reno_gain = estimate_ < w_prior_ ? 3 * (1 - config_.beta) / (1 + config_.beta) : 1.;
  estimate_ += reno_gain * acked / exact_;
  if (config_.reno_friendly && target(t) < estimate_)
    exact_ = std::max(exact_, estimate_);
  else
    exact_ += (aim - exact_) / exact_ * acked;
  return static_cast<std::uint64_t>(exact_ * static_cast<double>(mss()));
}

}  // namespace rnicsim
