// SPDX-License-Identifier: MIT
// Hybrid slow start (Ha and Rhee, "Taming the elephants: new TCP slow start", 2011), as Linux's
// CUBIC has it: slow start ends before it overruns the path.
//
// In each round trip, once the window has kLowWindow segments:
//   - a train of acknowledgements, none more than kAckSpacing apart, that lasts for half of the
//     shortest round trip time says that the window fills the path;
//   - so does a round trip time that has grown by an eighth, by at least kLeastDelay.
//
// Approximates: knows smoothed round trip times only, so the shortest is that of the first rounds
// and growth is seen a few acknowledgements late. Linux allows the train, beside that, the time
// that four full bursts take at the pacing rate.
#pragma once

#include <cstdint>

#include "host/tcp/tcp_congestion.h"

namespace rnicsim {

class TcpHystart {
 public:
  static constexpr std::uint64_t kLowWindow = 16;
  static constexpr Time kAckSpacing = Time::ms(2);
  static constexpr Time kLeastDelay = Time::ms(4);
  static constexpr Time kMostDelay = Time::ms(16);

  /// Of every acknowledgement; true: slow start should end now.
  bool observe(const TcpCongestion::Acknowledged& news, std::uint64_t segments);

 private:
  std::uint64_t round_end_ = 0;  ///< the round lasts until this position is acknowledged
  Time round_begin_;
  Time train_end_;
  Time shortest_ = Time::never();
};

}  // namespace rnicsim
