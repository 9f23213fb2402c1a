// SPDX-License-Identifier: MIT
// A clock as arithmetic: edge n is computed from n, so that 322.265625 MHz does not drift. Nothing
// ticks. A block rounds its wake-ups to its clock's grid and counts latencies in its cycles.
#pragma once

#include "model/units.h"

namespace rnicsim {

class Clock {
 public:
  constexpr Clock() = default;
  constexpr explicit Clock(Frequency frequency) : hz_(frequency.hz()) {
    if (hz_ != 0 && kPsPerSecond % hz_ == 0)
      period_ = static_cast<std::int64_t>(kPsPerSecond / hz_);
  }
  constexpr Frequency frequency() const { return Frequency(hz_); }

  /// Time of edge n (rounded down to a whole picosecond); edge 0 is at time zero.
  constexpr Time edge(std::uint64_t n) const {
    if (period_ != 0) return Time::ps(static_cast<std::int64_t>(n) * period_);
    return Time::ps(static_cast<std::int64_t>(static_cast<Uint128>(n) * kPsPerSecond / hz_));
  }
  /// Number of the first edge at or after t.
  constexpr std::uint64_t index_at_or_after(Time t) const {
    const auto ps = static_cast<std::uint64_t>(t.ps());
    if (period_ != 0) return divide_up(ps, static_cast<std::uint64_t>(period_));
    auto n = static_cast<std::uint64_t>(static_cast<Uint128>(ps) * hz_ / kPsPerSecond);
    while (edge(n) < t) ++n;
    return n;
  }
  constexpr Time edge_at_or_after(Time t) const { return edge(index_at_or_after(t)); }
  /// The edge `cycles` after the first one at or after t.
  constexpr Time after(Time t, Cycles cycles) const {
    return edge(index_at_or_after(t) + cycles.count());
  }
  /// A duration of whole cycles, rounded up; for sums that need no grid (CPU cycles).
  constexpr Time duration(Cycles cycles) const {
    if (period_ != 0) return Time::ps(static_cast<std::int64_t>(cycles.count()) * period_);
    const Uint128 ps = static_cast<Uint128>(cycles.count()) * kPsPerSecond;
    return Time::ps(static_cast<std::int64_t>((ps + hz_ - 1) / hz_));
  }

 private:
  static constexpr std::uint64_t kPsPerSecond = 1000000000000ULL;
  std::uint64_t hz_ = 0;
  std::int64_t period_ = 0;  ///< ps, when it is whole; else 0
};

}  // namespace rnicsim
