// SPDX-License-Identifier: MIT
#include "host/pcie_credits.h"

namespace rnicsim {

void CreditReturns::take_ramps(View& view, const WireInstant& now) const {
  view.next = WireInstant::never();
  while (view.ramp < ramps_.size()) {
    const Ramp& ramp = ramps_.at(view.ramp);
    const std::uint32_t due =
        ramp.last <= now ? ramp.count - view.taken : due_of(ramp, view.taken, now);
    view.available.headers += ramp.each.headers * due;
    view.available.data += ramp.each.data * due;
    view.taken += due;
    if (view.taken < ramp.count) {
      const auto bytes = static_cast<std::uint64_t>(ramp.step) * view.taken;
      view.next = bytes == 0 ? ramp.first : after(byte_time_, ramp.first, bytes);
      return;
    }
    ++view.ramp;
    view.taken = 0;
  }
}

/// How many turns' credits of a ramp whose last are not back have come back since `taken` of them.
/// In units of 1/denominator ps the n-th comes at first + n x step x numerator, so one division
/// tells.
std::uint32_t CreditReturns::due_of(const Ramp& ramp, std::uint32_t taken,
                                    const WireInstant& now) const {
  if (now < ramp.first) return 0;
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
