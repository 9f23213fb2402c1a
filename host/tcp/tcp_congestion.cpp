// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_congestion.h"

#include <algorithm>

#include "host/tcp/tcp_cubic.h"
#include "host/tcp/tcp_dctcp.h"
#include "host/tcp/tcp_reno.h"

namespace rnicsim {

void TcpCongestion::begin(std::uint64_t mss, std::uint32_t initial_segments) {
  mss_ = mss;
  initial_ = mss * initial_segments;
  window_ = initial_;
  threshold_ = ~std::uint64_t{0};
  started();
}

void TcpCongestion::grow(const Acknowledged& news) {
  std::uint64_t bytes = news.bytes;
  if (in_slow_start()) {
    const std::uint64_t step = std::min(bytes, threshold_ - window_);
    window_ += step;
    bytes -= step;
  }
  if (bytes != 0) window_ = std::max(avoid(bytes, news), mss_);
}

void TcpCongestion::cut(Cause cause, std::uint64_t in_flight, Time now) {
  threshold_ = std::max(reduced(cause, in_flight, now), 2 * mss_);
  window_ = threshold_;
}

void TcpCongestion::time_out(std::uint64_t in_flight, Time now, bool first) {
  if (first) threshold_ = std::max(reduced(Cause::kTimeout, in_flight, now), 2 * mss_);
  window_ = mss_;
}

void TcpCongestion::restart() { window_ = std::min(window_, initial_); }

void TcpCongestion::limit(std::uint64_t window) { window_ = std::min(window_, window); }

std::unique_ptr<TcpCongestion> make_tcp_congestion(const TcpConfig& config) {
  switch (config.algorithm) {
    case TcpAlgorithm::kCubic:
      return std::make_unique<TcpCubic>(config.cubic);
    case TcpAlgorithm::kDctcp:
      return std::make_unique<TcpDctcp>(config.dctcp);
    case TcpAlgorithm::kReno:
      break;
  }
  return std::make_unique<TcpReno>();
}

}  // namespace rnicsim
