// SPDX-License-Identifier: MIT
// Flow-control credits of one class of TLPs in one direction of a PCIe link, on their way back from
// the receiver: what host/pcie_arbiter counts with. Exact to a fraction of a picosecond, without
// an event a TLP: turns that follow each other form a ramp, whose n-th credits come back after n
// times as many bytes of wire time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/ring.h"
#include "model/units.h"

namespace rnicsim {

struct PcieCredits {
  std::uint32_t headers = 0;
  std::uint32_t data = 0;  ///< in units of 16 B
};

/// A time on the wire: whole picoseconds and the rest in 1/denominator ps. A link that runs at the
/// pace of its credits decides just when they come back, so rounding would cost a turn.
struct WireInstant {
  Time time;
  std::uint64_t remainder = 0;
  static constexpr WireInstant never() { return {Time::never(), 0}; }
  bool operator<(const WireInstant& other) const {
    return time < other.time || (time == other.time && remainder < other.remainder);
  }
  bool operator<=(const WireInstant& other) const { return !(other < *this); }
  Time rounded_up() const { return remainder == 0 ? time : time + Time::ps(1); }
};

/// `bytes` of wire time later.
inline WireInstant after(const ByteTime& byte_time, const WireInstant& start, std::uint64_t bytes) {
  const Uint128 units = static_cast<Uint128>(bytes) * byte_time.numerator() + start.remainder;
  const std::uint64_t den = byte_time.denominator();
  if (units >> 64 == 0) {
    const auto small = static_cast<std::uint64_t>(units);
    return {start.time + Time::ps(static_cast<std::int64_t>(small / den)), small % den};
  }
  return {start.time + Time::ps(static_cast<std::int64_t>(units / den)),
          static_cast<std::uint64_t>(units % den)};
}

class CreditReturns {
 public:
  /// Credits of `count` turns, one every `step` bytes of wire time.
  struct Ramp {
    WireInstant first;
    std::uint32_t step = 0;
    std::uint32_t count = 0;
    PcieCredits each;
    WireInstant last{};  ///< when those of the last turn are back; filled in by consume
  };
  /// Where somebody stands who takes them: the direction itself, or its look ahead.
  struct View {
    PcieCredits available;
    std::uint32_t ramp = 0;                     ///< first ramp with something left
    std::uint32_t taken = 0;                    ///< of that ramp
    WireInstant next = WireInstant::never();    ///< when its next credits are back
    WireInstant unseen = WireInstant::never();  ///< looking ahead: first return of turns that are
                                                ///< not committed
  };

  /// delay: last byte of a TLP sent -> its credits are here again.
  CreditReturns(const ByteTime& byte_time, Time delay) : byte_time_(byte_time), delay_(delay) {}

  /// No credits come back before `time`.
  void hold(Time time) { hold_ = std::max(hold_, time); }
  /// Gives the view what is back by `now`.
  void take(View& view, const WireInstant& now) const {
    if (now.time >= hold_ && view.next <= now) take_ramps(view, now);
  }
  WireInstant next(const View& view) const {
    return std::max(std::min(view.next, view.unseen), WireInstant{hold_, 0});
  }
  /// Turns take credits; `when.first` is the end of the first of them. Looking ahead (not kCommit)
  /// only the view learns of it.
  template <bool kCommit>
  void consume(View& view, Ramp when) {
    view.available.headers -= when.each.headers * when.count;
    view.available.data -= when.each.data * when.count;
    when.first.time += delay_;
    if (kCommit) {
      if (when.count > 1)
        when.last = after(byte_time_, when.first, std::uint64_t{when.step} * (when.count - 1));
      else
        when.last = when.first;
      ramps_.push(when);
      view.next = std::min(view.next, when.first);
    } else {
      view.unseen = std::min(view.unseen, when.first);
    }
  }
  /// Drops the ramps that the one committed view is past.
  void forget_taken(View& view) {
    for (; view.ramp > 0; --view.ramp) ramps_.pop();
  }

 private:
  void take_ramps(View& view, const WireInstant& now) const;
  std::uint32_t due_of(const Ramp& ramp, std::uint32_t taken, const WireInstant& now) const;

  ByteTime byte_time_;
  Time delay_;
  Time hold_;
  Ring<Ramp> ramps_;
};

}  // namespace rnicsim
