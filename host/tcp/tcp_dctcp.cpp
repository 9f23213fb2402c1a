// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_dctcp.h"

namespace rnicsim {

void TcpDctcp::started() {
  TcpReno::started();
  alpha_ = config_.initial_alpha;
  acked_ = marked_ = window_end_ = 0;
}

void TcpDctcp::observe(const Acknowledged& news) {
  acked_ += news.bytes;
  if (news.marked) marked_ += news.bytes;
  if (news.una <= window_end_) return;
  const double share = static_cast<double>(marked_) / static_cast<double>(acked_);
  alpha_ = alpha_ * (1 - config_.gain) + config_.gain * share;
  window_end_ = news.high;
  acked_ = marked_ = 0;
}

std::uint64_t TcpDctcp::reduced(Cause cause, std::uint64_t in_flight, Time now) {
  const std::uint64_t half = TcpReno::reduced(cause, in_flight, now);
  if (cause != Cause::kMark) return half;
  return static_cast<std::uint64_t>(static_cast<double>(window()) * (1 - alpha_ / 2));
}

}  // namespace rnicsim
