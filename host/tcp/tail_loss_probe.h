// SPDX-License-Identifier: MIT
// A probe of the tail of what is in flight (RFC 8985, 7): if nothing comes for about two round
// trips, the sender sends one segment more, new data or the last once more, whose acknowledgement
// shows what is missing long before the retransmission timeout would.
//
// Here: when it is due, one at a time, and what becomes of it. What is sent, and what a loss does
// to the window, is the sender's business. As in Linux, a flight of one segment waits the least
// timeout longer, for the sake of delayed acknowledgements, any other 2 ms (two ticks of 1 ms).
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/tcp/rtt_estimator.h"
#include "host/tcp/tcp_config.h"
#include "host/tcp/tcp_timer.h"

namespace rnicsim {

class TailLossProbe {
 public:
  TailLossProbe(Scheduler& scheduler, const TcpConfig& config, const Callback& due)
      : config_(config), timer_(scheduler, due) {}

  /// Something new is in flight, or has been acknowledged. At `timeout` the retransmission timer
  /// runs out.
  void schedule(const RttEstimator& rtt, bool one_segment, Time now, Time timeout) {
    if (!config_.tail_loss_probe || is_out()) return;
    const Time least = one_segment ? config_.min_rto : kTicks;
    const Time delay = rtt.has_sample() ? rtt.smoothed() * 2 + least : Time::s(1);
    timer_.start(std::min(delay, std::max(timeout - now, Time())));
  }
  void cancel() { timer_.stop(); }
  /// The retransmission timer has run out at the same instant: the probe goes first.
  bool goes_now(Time now) const { return timer_.deadline() == now; }

  /// It has left; everything before `end` was sent then. `again`: it was the last segment.
  void sent(std::uint64_t end, bool again) {
    end_ = end;
    again_ = again;
    ++sent_;
  }
  bool is_out() const { return end_ != 0; }
  /// Behind it; 0: none is out.
  std::uint64_t end() const { return end_; }
  /// Everything before `position` is acknowledged; `duplicate`: for at least the second time. True:
  /// the probe has repaired a loss.
  bool take(std::uint64_t position, bool duplicate) {
    if (!is_out() || position < end_) return false;
    const bool repaired = again_ && position > end_;
    // Both the segment and the probe arrived if the end is acknowledged twice.
    if (!again_ || position > end_ || duplicate) end_ = 0;
    return repaired;
  }
  void forget() {
    timer_.stop();
    end_ = 0;
  }
  std::uint64_t count() const { return sent_; }

 private:
  static constexpr Time kTicks = Time::ms(2);

  const TcpConfig& config_;
  TcpTimer timer_;
  std::uint64_t end_ = 0;  ///< 0: none is out
  bool again_ = false;
  std::uint64_t sent_ = 0;
};

}  // namespace rnicsim
