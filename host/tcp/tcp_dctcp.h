// SPDX-License-Identifier: MIT
// DCTCP (RFC 8257): Reno that cuts its window, once a window, by half the share of bytes that
// switches marked, smoothed over windows: alpha += gain (share - alpha). Losses halve it.
#pragma once

#include "host/tcp/tcp_reno.h"

namespace rnicsim {

class TcpDctcp final : public TcpReno {
 public:
  explicit TcpDctcp(const DctcpConfig& config) : config_(config), alpha_(config.initial_alpha) {}
  bool wants_each_mark() const override { return true; }
  void observe(const Acknowledged& news) override;
  double alpha() const { return alpha_; }

 protected:
  void started() override;
  std::uint64_t reduced(Cause cause, std::uint64_t in_flight, Time now) override;

 private:
  DctcpConfig config_;
  double alpha_;
  std::uint64_t acked_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t window_end_ = 0;  ///< position with which the present window ends
};

}  // namespace rnicsim
