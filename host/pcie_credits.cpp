// SPDX-License-Identifier: MIT
#include "host/pcie_credits.h"

namespace rnicsim {

WireInstant after(const ByteTime& byte_time, const WireInstant& start, std::uint64_t bytes) {
  const Uint128 units = static_cast<Uint128>(bytes) * byte_time.numerator() + start.remainder;
  const std::uint64_t den = byte_time.denominator();
  if (units >> 64 == 0) {
    const auto small = static_cast<std::uint64_t>(units);
    return {start.time + Time::ps(static_cast<std::int64_t>(small / den)), small % den};
  }
  return {start.time + Time::ps(static_cast<std::int64_t>(units / den)),
          static_cast<std::uint64_t>(units % den)};
}

void CreditReturns::take_ramps(View& view, const WireInstant& now) const {
  view.next = WireInstant::never();
  while (view.ramp < ramps_.size()) {
    const Ramp& ramp = ramps_.at(view.ramp);
    const std::uint32_t due = due_of(ramp, view.taken, now);
    view.available.headers += ramp.each.headers * due;
    view.available.data += ramp.each.data * due;
    view.taken += due;
    if (view.taken < ramp.count) {
      view.next = after(byte_time_, ramp.first, static_cast<std::uint64_t>(ramp.step) * view.taken);
      return;
    }
    ++view.ramp;
    view.taken = 0;
  }
}

/// How many turns' credits of a ramp have come back since `taken` of them. In units of
/// 1/denominator ps the n-th comes at first + n x step x numerator, so one division tells.
std::uint32_t CreditReturns::due_of(const Ramp& ramp, std::uint32_t taken,
                                    const WireInstant& now) const {
  if (now < ramp.first) return 0;
  if (ramp.count == 1) return 1;
  const Uint128 elapsed =
      static_cast<Uint128>((now.time - ramp.first.time).ps()) * byte_time_.denominator() +
      now.remainder - ramp.first.remainder;
  const Uint128 step = static_cast<Uint128>(ramp.step) * byte_time_.numerator();
  const bool small = elapsed >> 64 == 0 && step >> 64 == 0;
  const Uint128 steps = small
                            ? static_cast<std::uint64_t>(elapsed) / static_cast<std::uint64_t>(step)
                            : elapsed / step;
  const auto back = static_cast<std::uint32_t>(std::min<Uint128>(steps + 1, ramp.count));
  return back > taken ? back - taken : 0;
}

}  // namespace rnicsim
