// SPDX-License-Identifier: MIT
// CUBIC (RFC 9438): above the threshold the window follows a cubic of the time since the last loss,
// flat where that loss was.
//
//   W(t) = c (t - K)^3 + W_max,  K = cbrt((W_max - W_epoch) / c), windows in segments, t in seconds
//   each window's worth of acknowledgements brings the window to W(t + rtt), at most half as much
//   again; where Reno's estimate (section 4.3) is above W(t), the window is that
//
// After a timeout, or slow start that ended without a loss (tcp_hystart), K is 0 and W_max the
// window (4.8, 4.10). Approximates: time in which the application sends nothing counts as well.
#pragma once

#include "host/tcp/tcp_congestion.h"
#include "host/tcp/tcp_hystart.h"

namespace rnicsim {

class TcpCubic final : public TcpCongestion {
 public:
  explicit TcpCubic(const CubicConfig& config) : config_(config) {}

  /// W(t) of this epoch, in segments.
  double target(double seconds) const;
  double k() const { return k_; }
  double w_max() const { return w_max_; }
  void observe(const Acknowledged& news) override;

 protected:
  void started() override;
  std::uint64_t reduced(Cause cause, std::uint64_t in_flight, Time now) override;
  std::uint64_t avoid(std::uint64_t bytes, const Acknowledged& news) override;

 private:
  void begin_epoch(Time now);
  double segments(std::uint64_t bytes) const;

  CubicConfig config_;
  TcpHystart hystart_;
  bool in_epoch_ = false;
  bool after_loss_ = false;  ///< the epoch begins with one
  Time epoch_;
  double k_ = 0;
  double w_max_ = 0;
  double w_prior_ = 0;   ///< window when it was reduced
  double estimate_ = 0;  ///< Reno's
  double exact_ = 0;     ///< the window, in segments
};

/// By what IEEE 754 rounds exactly, so that it is the same on every machine. REQUIRES: x >= 0.
double cube_root(double x);

}  // namespace rnicsim
