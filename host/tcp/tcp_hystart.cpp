// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_hystart.h"

#include <algorithm>

namespace rnicsim {

bool TcpHystart::observe(const TcpCongestion::Acknowledged& news, std::uint64_t segments) {
  if (news.rtt != Time()) shortest_ = std::min(shortest_, news.rtt);
  if (news.una > round_end_) {
    round_end_ = news.high;
    round_begin_ = train_end_ = news.now;
  }
  if (segments < kLowWindow || shortest_ == Time::never()) return false;
  if (news.now - train_end_ <= kAckSpacing) {
    train_end_ = news.now;
    if (news.now - round_begin_ > shortest_ / 2) return true;
  }
  return news.rtt > shortest_ + std::clamp(shortest_ / 8, kLeastDelay, kMostDelay);
}

}  // namespace rnicsim
