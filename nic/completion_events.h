// SPDX-License-Identifier: MIT
// Decides when a completion queue has an event: armed by software with the index of the first entry
// that it has not seen, the queue has one when such an entry has been written or is there already
// (solicited only: one that its sender marked, or an error). With moderation in the queue's context
// (count above one and a period) the event is held back until there are so many entries from that
// index on, or so much time has passed since the first was seen; that timer keeps no run alive.
//
// Connects to: the doorbell (arm), cqe_writer (written), commands (forget, changed), event_queue.
// Models: the look into the queue's context, which may have to be fetched. Of two requests that
// wait for an entry the wider one counts, with the later index (IBTA 11.4.2.2).
// Approximates: whether a queue is armed, and how, stands in a table of the NIC's own with a place
// for every queue: the context in host RAM has no field for it, so it is never evicted.
#pragma once

#include <vector>

#include "model/clock.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/scheduler.h"
#include "nic/event_queue.h"
#include "nic/host_table_cache.h"

namespace rnicsim {

using CqContextCache = HostTableCache<abi::CqContext>;

class CompletionEvents {
 public:
  CompletionEvents(Scheduler& scheduler, const Clock& clock, CqContextCache& contexts,
                   EventQueue& event_queue)
      : scheduler_(scheduler),
        contexts_(contexts),
        context_port_(contexts.add_port(clock)),
        event_queue_(event_queue) {}

  /// Software wants one event for an entry at or after `consumer`, of which it gives 24 bits.
  void arm(Cqn cqn, std::uint32_t consumer, bool solicited_only);
  /// The entry before the context's producer index, of this work request, has been handed to PCIe.
  void written(Cqn cqn, const abi::CqContext& context, bool solicited, WorkRequestId work_request);
  /// The queue's moderation is another now.
  void changed(Cqn cqn) { look(cqn.value()); }
  /// The queue is made or destroyed.
  void forget(Cqn cqn);
  void reset();

  void report(const MetricScope& scope) const;

 private:
  struct State {
    bool requested = false;  ///< its context has still to be looked at; `index` has 24 bits
    bool armed = false;
    bool solicited_only = false;
    bool held = false;  ///< by moderation
    bool period_over = false;
    std::uint32_t index = 0;
    std::uint32_t solicited_end = 0;  ///< index behind the last solicited entry
    std::uint32_t generation = 0;     ///< of the moderation timer that counts
    WorkRequestId latest;             ///< of the last entry; for observers
  };
  State& state(std::uint32_t cqn);
  void schedule_look(std::uint64_t cqn);
  void look(std::uint64_t cqn);
  void check(std::uint32_t cqn, State& state, const abi::CqContext& context);
  void hold(std::uint32_t cqn, State& state, Time period);
  void period_over(std::uint64_t timer);
  void stop_holding(State& state);
  void clear(State& state);

  Scheduler& scheduler_;
  CqContextCache& contexts_;
  Pipeline& context_port_;
  EventQueue& event_queue_;
  std::vector<State> states_;  ///< by number
  std::uint64_t requests_ = 0;
  std::uint64_t ignored_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t held_ = 0;
  std::uint32_t holding_ = 0;
  std::uint32_t most_holding_ = 0;
};

}  // namespace rnicsim
