// SPDX-License-Identifier: MIT
// Reno (RFC 5681): a segment more each window, half the window after a loss or a mark.
#pragma once

#include "host/tcp/tcp_congestion.h"

namespace rnicsim {

class TcpReno : public TcpCongestion {
 protected:
  void started() override { acked_ = 0; }
  std::uint64_t reduced(Cause cause, std::uint64_t in_flight, Time now) override;
  std::uint64_t avoid(std::uint64_t bytes, const Acknowledged& news) override;

 private:
  std::uint64_t acked_ = 0;  ///< since the window grew last
};

}  // namespace rnicsim
