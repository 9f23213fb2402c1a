// SPDX-License-Identifier: MIT
// A hardware pipeline as arithmetic: work may enter every `interval` cycles of the block's clock
// and leaves `latency` cycles after it entered. No event of its own; the caller schedules what
// follows. While it is blocked, nothing enters.
#pragma once

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/outage.h"
#include "model/signal.h"
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
    return clock_.edge(after_outages(edge < next_edge_ ? next_edge_ : edge));
  }
  /// What entered last takes the pipeline until then, should its interval end sooner.
  void hold(Time until) {
    const std::uint64_t edge = clock_.index_at_or_after(until);
    if (edge <= next_edge_) return;
    busy_ += Cycles(edge - next_edge_);
    states_(clock_.edge(next_edge_), clock_.edge(edge), kBusy);
    next_edge_ = edge;
  }
  /// A fault: nothing enters within [from, until).
  void block(Time from, Time until) { outages_.add(from, until); }
  Time busy() const { return clock_.duration(busy_); }
  Time stalled() const { return stalled_; }
  Time blocked() const { return blocked_; }
  std::uint64_t entered() const { return entered_; }
  /// `name`: of its state, busy while something is inside.
  void signals(const SignalScope& scope, const char* name = "state") {
    scope.reported(name, {"idle", "busy", "stalled", "blocked"},
                   "of its pipeline: nothing inside, work inside, work that waits for its turn to "
                   "enter, work kept out by a fault",
                   states_);
  }

 private:
  enum State : std::uint8_t { kBusy = 1, kStalled, kBlocked };
  std::uint64_t take_edge(Time ready) {
    std::uint64_t edge = clock_.index_at_or_after(ready);
    if (edge < next_edge_) {
      stalled_ += clock_.edge(next_edge_) - clock_.edge(edge);
      states_(clock_.edge(edge), clock_.edge(next_edge_), kStalled);
      edge = next_edge_;
    }
    const std::uint64_t open = after_outages(edge);
    if (open != edge) {
      blocked_ += clock_.edge(open) - clock_.edge(edge);
      states_(clock_.edge(edge), clock_.edge(open), kBlocked);
      edge = open;
    }
    if (states_.on()) {
      const Cycles inside = latency_ < interval_ ? interval_ : latency_;
      states_(clock_.edge(edge), clock_.edge(edge + inside.count()), kBusy);
    }
    next_edge_ = edge + interval_.count();
    busy_ += interval_;
    ++entered_;
    return edge;
  }
  std::uint64_t after_outages(std::uint64_t edge) const {
    if (outages_.empty()) return edge;
    const Time at = clock_.edge(edge);
    const Time end = outages_.end_of(at);
    return end == at ? edge : clock_.index_at_or_after(end);
  }

  const Clock& clock_;
  Cycles latency_;
  Cycles interval_;
  std::uint64_t next_edge_ = 0;
  Cycles busy_;
  Time stalled_;
  Time blocked_;
  Outages outages_;
  std::uint64_t entered_ = 0;
  StateReport states_;
};

}  // namespace rnicsim
