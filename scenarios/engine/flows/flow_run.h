// SPDX-License-Identifier: MIT
// The flows of a workload under way, as all its programs see them: which flows share a queue pair,
// what has begun and ended, which triggers have been pulled. Knows no thread: whoever is to begin a
// flow is told through FlowStarter.
//
// A few dozen bytes a flow; nothing is allocated for one.
#pragma once

#include <cstdint>
#include <vector>

#include "host/verbs_queues.h"
#include "model/ring.h"
#include "model/units.h"
#include "model/verbs_types.h"
#include "scenarios/engine/flows/flow.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

/// The flows from one end point to another in one priority: one queue pair, so they go one after
/// the other.
struct FlowPair {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint8_t dscp = 0;
  bool broken = false;  ///< a work request failed: no flow of it will end any more
  bool waits_for_room = false;
  std::uint32_t flows = 0;
  std::uint32_t settled = 0;    ///< of these, ended or failed
  std::uint64_t messages = 0;   ///< of all its flows
  std::uint32_t sends = 1;      ///< places of its send queue
  std::uint32_t posted = 0;     ///< messages
  std::uint32_t completed = 0;  ///< of these, known to be
  Bytes delivered;              ///< payload of flows that have ended
  Bytes slot;                   ///< of either side's region
  Bytes written;                ///< of that, from its begin; of READs of the source's
  std::uint64_t local_offset = 0;
  std::uint64_t remote_offset = 0;
  VirtualAddress remote_address;
  MemoryKey rkey;
  QueuePair* qp = nullptr;    ///< of the source
  Ring<std::uint32_t> begun;  ///< flows that are not wholly posted
  Bytes posted_of_first;      ///< of these
  Bytes offset;               ///< in the slot, of the next message
};

class FlowStarter {
 public:
  virtual ~FlowStarter() = default;
  /// A trigger was pulled at `time` by a flow of end point `by`.
  virtual void start(std::uint32_t flow, std::uint32_t by, Time time) = 0;
};

class FlowRun {
 public:
  FlowRun(const WorkloadSpec& spec, FlowPlan plan);

  const std::vector<Flow>& flows() const { return plan_.flows; }
  const Flow& flow(std::uint32_t index) const { return plan_.flows[index]; }
  std::vector<FlowPair>& pairs() { return pairs_; }
  const std::vector<FlowPair>& pairs() const { return pairs_; }
  FlowPair& pair_of(std::uint32_t flow) { return pairs_[pair_of_[flow]]; }
  std::uint32_t pair_index(std::uint32_t flow) const { return pair_of_[flow]; }
  Bytes message_size() const { return message_size_; }

  void begin(std::uint32_t flow, Time time) { times_[flow].start = time; }
  /// Its last completion was polled.
  void finish(std::uint32_t flow, Time time, FlowStarter& starter);
  /// All flows of the pair that have not ended. What waits for their end begins all the same.
  /// Returns how many.
  std::uint32_t break_pair(FlowPair& pair, Time time, FlowStarter& starter);

  /// Those that must have ended before `flow` begins and have not.
  std::vector<std::uint32_t> awaited_by(std::uint32_t flow) const;

  Time start_of(std::uint32_t flow) const { return times_[flow].start; }
  Time finish_of(std::uint32_t flow) const { return times_[flow].finish; }
  bool has_begun(std::uint32_t flow) const { return times_[flow].start != Time::never(); }
  bool has_finished(std::uint32_t flow) const { return times_[flow].finish != Time::never(); }
  std::uint64_t finished() const { return finished_; }
  std::uint64_t failed() const { return failed_; }

 private:
  struct Times {
    Time start = Time::never();
    Time finish = Time::never();
  };
  struct Trigger {
    std::uint32_t pulls = 0;
    std::uint32_t first = 0;  ///< of the flows it begins, in `begun_by_`
    std::uint32_t next = 0;   ///< the first of them that has not begun
    std::uint32_t end = 0;
  };
  void make_pairs(const WorkloadSpec& spec);
  void make_triggers();
  void pull_all_of(std::uint32_t flow, Time time, FlowStarter& starter);
  void pull(std::uint32_t trigger, std::uint32_t by, Time time, FlowStarter& starter);

  FlowPlan plan_;
  Bytes message_size_;
  std::vector<Times> times_;
  std::vector<std::uint32_t> pair_of_;
  std::vector<FlowPair> pairs_;
  std::vector<Trigger> triggers_;
  std::vector<std::uint32_t> begun_by_;
  std::uint64_t finished_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace rnicsim
