// SPDX-License-Identifier: MIT
#include "host/timer_tick.h"

#include "model/config_reader.h"
#include "model/random.h"

namespace rnicsim {

void TimerTickConfig::describe(Fields& f) {
  f.field("interval", interval, range(Time::us(100), Time::s(1)), "from one tick to the next");
  f.field("work", work, range(Cycles(1), Cycles(10000)), "of a tick");
}

TimerTick::TimerTick(const TimerTickConfig& config, const Clock& clock, std::uint64_t seed)
    : interval_(config.interval),
      length_(clock.duration(config.work)),
      first_(Time::ps(Random(seed).below(config.interval.ps()))) {}

Time TimerTick::free_from(Time at) const {
  if (at < first_) return at;
  const Time since = Time::ps((at - first_).ps() % interval_.ps());
  return since < length_ ? at + (length_ - since) : at;
}

Time TimerTick::end_of(Time start, Time duration) const {
  Time tick = first_;
  if (start >= first_) tick += interval_ * ((start - first_).ps() / interval_.ps() + 1);
  Time end = start + duration;
  for (; tick < end; tick += interval_) end += length_;
  return end;
}

}  // namespace rnicsim
