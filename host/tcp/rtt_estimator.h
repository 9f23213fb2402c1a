// SPDX-License-Identifier: MIT
// Retransmission timeout by RFC 6298: smoothed round trip time plus four deviations, between two
// bounds, doubled by each timeout until the next sample. In whole picoseconds.
#pragma once

#include <algorithm>

#include "model/units.h"

namespace rnicsim {

class RttEstimator {
 public:
  /// Linux counts in microseconds.
  static constexpr Time kGranularity = Time::us(1);

  RttEstimator(Time initial, Time least, Time most) : least_(least), most_(most), base_(initial) {}

  /// Of something that was sent once only (Karn).
  void sample(Time rtt) {
    if (has_sample_) {
      const Time off = smoothed_ > rtt ? smoothed_ - rtt : rtt - smoothed_;
      deviation_ = (deviation_ * 3 + off) / 4;
      smoothed_ = (smoothed_ * 7 + rtt) / 8;
    } else {
      has_sample_ = true;
      smoothed_ = rtt;
      deviation_ = rtt / 2;
    }
    base_ = std::clamp(smoothed_ + std::max(kGranularity, deviation_ * 4), least_, most_);
    backoff_ = 0;
  }
  void back_off() {
    if (timeout() < most_) ++backoff_;
  }
  void forget_backoff() { backoff_ = 0; }
  Time timeout() const { return std::min(base_ * (std::int64_t{1} << backoff_), most_); }
  bool has_sample() const { return has_sample_; }
  Time smoothed() const { return smoothed_; }

 private:
  Time least_;
  Time most_;
  Time base_;
  Time smoothed_;
  Time deviation_;
  unsigned backoff_ = 0;
  bool has_sample_ = false;
};

}  // namespace rnicsim
