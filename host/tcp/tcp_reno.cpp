// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_reno.h"

namespace rnicsim {

std::uint64_t TcpReno::reduced(Cause cause, std::uint64_t in_flight, Time /*now*/) {
  acked_ = 0;
  return (cause == Cause::kMark ? window() : in_flight) / 2;
}

std::uint64_t TcpReno::avoid(std::uint64_t bytes, const Acknowledged& /*news*/) {
  std::uint64_t grown = window();
  acked_ += bytes;
  while (acked_ >= grown) {
    acked_ -= grown;
    grown += mss();
  }
  return grown;
}

}  // namespace rnicsim
