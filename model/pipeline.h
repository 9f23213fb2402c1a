// SPDX-License-Identifier: MIT
// A hardware pipeline as arithmetic: work may enter every `interval` cycles of the block's clock
// and leaves `latency` cycles after it entered. No event of its own; the caller schedules what
// follows.
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

struct PipelineConfig {
  Cycles latency;
  Cycles interval{1};
  void describe(Fields& fields);
};

class Pipeline {
 public:
  Pipeline(const Clock& clock, const PipelineConfig& config)
      : clock_(clock), latency_(config.latency), interval_(config.interval) {}

  /// Work that is ready at `ready` enters at the next free edge; returns when it leaves.
  Time enter(Time ready) { return clock_.edge(take_edge(ready) + latency_.count()); }
  /// The same; returns when it enters.
  Time begin(Time ready) { return clock_.edge(take_edge(ready)); }
  /// The first edge at or after `ready` at which work could enter.
  Time next_entry(Time ready) const {
    const std::uint64_t edge = clock_.index_at_or_after(ready);
    return clock_.edge(edge < next_edge_ ? next_edge_ : edge);
  }
  Time busy() const { return clock_.duration(busy_); }
  Time stalled() const { return stalled_; }
  std::uint64_t entered() const { return entered_; }

 private:
  std::uint64_t take_edge(Time ready) {
    std::uint64_t edge = clock_.index_at_or_after(ready);
    if (edge < next_edge_) {
      stalled_ += clock_.edge(next_edge_) - clock_.edge(edge);
      edge = next_edge_;
    }
    next_edge_ = edge + interval_.count();
    busy_ += interval_;
    ++entered_;
    return edge;
  }

  const Clock& clock_;
  Cycles latency_;
  Cycles interval_;
  std::uint64_t next_edge_ = 0;
  Cycles busy_;
  Time stalled_;
  std::uint64_t entered_ = 0;
};

}  // namespace rnicsim
