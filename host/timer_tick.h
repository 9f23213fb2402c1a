// SPDX-License-Identifier: MIT
// The kernel's timer tick: now and then a core does something else, and what runs on it waits. This
// is what makes a few of many equal latencies longer.
//
// Connects to: CpuCore, which asks when work can begin and when it ends; nothing is scheduled.
// Models: ticks of one length, one `interval` apart; cores and hosts tick at phases of their own,
// from the seed. Approximates: the length is the same each time. Ignores: what else interrupts
// (system management, other programs, the sibling thread), ticks left out on idle cores. Likely
// error: percentiles beyond 99.9 % are too small.
#pragma once

#include <cstdint>

#include "model/clock.h"
#include "model/units.h"

namespace rnicsim {

class Fields;

struct TimerTickConfig {
  Time interval = Time::ms(1);
  Cycles work{3500};
  void describe(Fields& fields);
};

class TimerTick {
 public:
  TimerTick(const TimerTickConfig& config, const Clock& clock, std::uint64_t seed);

  /// `at`, or the end of the tick that it falls into.
  Time free_from(Time at) const;
  /// When work of `duration` that begins at `start` is done. REQUIRES: `start` is in no tick.
  Time end_of(Time start, Time duration) const;

 private:
  Time interval_;
  Time length_;
  Time first_;  ///< begin of the first tick
};

}  // namespace rnicsim
