// SPDX-License-Identifier: MIT
// When a receiver acknowledges, and which marks it echoes.
//
// At once: what came out of order, filled a gap or was old, FIN, and every so many full segments;
// else after a delay, or with the next segment that leaves anyway (RFC 5681, 4.2). A full segment
// is the largest seen, 536 B at least, as Linux estimates it.
//
// Marks: RFC 3168 echoes from a mark until CWR. RFC 8257 echoes whether the last data was marked;
// when that changes, what has not been acknowledged is, with the old answer, before the new data
// counts.
//
// Left out: Linux acknowledges the first segments of a connection at once (quick acks) and adapts
// the delay to the time between segments; here it is always the same.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/tcp/tcp_config.h"
#include "host/tcp/tcp_timer.h"
#include "model/headers.h"

namespace rnicsim {

class TcpAckPolicy {
 public:
  /// `due`: an acknowledgement has waited long enough.
  TcpAckPolicy(Scheduler& scheduler, const TcpConfig& config, const Callback& due)
      : config_(config), timer_(scheduler, due) {}

  void begin(bool ecn, bool each_mark) {
    ecn_ = ecn;
    each_mark_ = each_mark;
  }
  /// True: what is pending has to be acknowledged before these data are taken (RFC 8257).
  bool marks_change(Ecn ecn) const {
    return each_mark_ && pending_ != 0 && (ecn == Ecn::kCongestion) != echoes_;
  }
  /// Data came, as `segments` of the wire.
  void take(std::uint32_t length, std::uint32_t segments, Ecn ecn, bool cwr) {
    const bool marked = ecn == Ecn::kCongestion;
    if (each_mark_) {
      if (marked != echoes_) at_once_ = true;
      echoes_ = marked;
    } else if (ecn_) {
      if (cwr) echoes_ = false;
      if (marked) echoes_ = true;
    }
    pending_ += length;
    full_ = std::max(full_, length / segments);
    if (pending_ >= std::uint64_t{config_.ack_every} * full_) at_once_ = true;
    if (config_.delayed_ack == Time()) at_once_ = true;
    if (!timer_.is_running()) timer_.start(config_.delayed_ack);
  }
  void hurry() { at_once_ = true; }
  bool is_due() const { return at_once_; }
  bool echoes() const { return echoes_; }
  /// One has left.
  void acknowledged() {
    at_once_ = false;
    pending_ = 0;
    timer_.stop();
  }

 private:
  static constexpr std::uint32_t kLeastSegment = 536;

  const TcpConfig& config_;
  TcpTimer timer_;
  bool ecn_ = false;
  bool each_mark_ = false;
  bool echoes_ = false;
  bool at_once_ = false;
  std::uint64_t pending_ = 0;  ///< bytes
  std::uint32_t full_ = kLeastSegment;
};

}  // namespace rnicsim
