// SPDX-License-Identifier: MIT
// The workload pattern "pairs": two programs that do what an application does, through the verbs
// library only.
//
//   target (B)                               initiator (A)
//   1 starts                                 1 starts
//   2 registers its region                   2 registers its buffer
//   creates queue pairs                      creates queue pairs
//       <---- queue pair numbers, PSNs ------
//   (posts receives)
//   3   ----- the same, address, length, rkey ---->
//   sleeps (or takes receives)               4 posts messages, waits for completions
//       <---- finished ----------------------
//
// Messages go round robin over the queue pairs, each of which keeps to its own share of both
// regions (chunk c of a region belongs to queue pair c modulo their number), so what memories must
// hold at the end does not depend on how queue pairs interleave; it is compared unless payload is
// elided (pair_operation says what must be where), except where a message failed after injected
// faults of a link. With a `fault` the target falsifies what it hands over; after a failure it
// posts one WRITE of its own on each queue pair, to show that it is flushed. Where operations take
// receives, a second program of the target takes them; if messages failed or may have been lost,
// the target gives what is still under way a while and then moves its queue pairs to ERR, so that
// receives left over come back flushed. For send_invalidate it binds memory windows too, and hands
// their keys over (window_leases). With a `target_fault` one more program of the target ends
// region or queue pairs under the traffic.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/metrics.h"
#include "model/random.h"
#include "scenarios/engine/control_path.h"
#include "scenarios/engine/endpoint.h"
#include "scenarios/engine/message_ledger.h"
#include "scenarios/engine/pair_operation.h"
#include "scenarios/engine/received_messages.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/timeline.h"
#include "scenarios/engine/window_leases.h"
#include "scenarios/engine/workload.h"

namespace rnicsim {

class PairWorkload : public Workload {
 public:
  /// The programs take the given cores. `observer` gets their probes, `timeline` is told which work
  /// requests to show; both may be null.
  PairWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
               unsigned initiator_core, unsigned target_core, ProbeSink* observer,
               Timeline* timeline);

  bool finished() const override { return initiator_.finished() && target_.finished(); }
  std::vector<std::string> waiting_for() const override;
  void landed(WorkRequestId work_request, Time time) override;
  void check_completions(std::vector<Violation>& violations) const override;
  Landed landed_at(const std::string& host) const override;
  void verify(std::vector<Violation>& violations) override;
  void report(MetricSink& sink) const override;
  WorkSpan span() const override;

 private:
  void initiator(CpuTask& task);
  void target(CpuTask& task);
  AccessFlags region_rights() const;
  AccessFlags queue_pair_rights() const;
  void take_receives(CpuTask& task);
  void fail_target(CpuTask& task);
  bool disturbed() const;
  bool leases_windows() const { return spec_.operation == Operation::kSendInvalidate; }
  ScatterGather source(std::uint64_t offset) const;
  void end_receives(CpuTask& task, std::uint64_t unsuccessful);
  void stream(CpuTask& task, const Introduction& peer);
  bool post_next(CpuTask& task, const Introduction& peer);
  MessageLedger::Message next_message(Time now);
  SendRequest request_for(const MessageLedger::Message& message, const ScatterGather& element,
                          const Introduction& peer);
  bool may_post(CpuTask& task);
  void falsify(CpuTask& task, Introduction& introduction);
  void post_after_failure(CpuTask& task);
  std::uint64_t next_offset(OffsetPattern pattern, std::uint64_t nth, std::uint32_t qp,
                            Random& random) const;

  System& system_;
  WorkloadSpec spec_;
  bool elided_;
  std::uint64_t initiator_seed_;
  std::uint64_t target_seed_;
  Timeline* timeline_;
  std::uint64_t tracked_;  ///< the first so many messages are shown on the timeline
  std::unique_ptr<ControlPath> control_;
  ControlChannel& to_target_;
  ControlChannel& to_initiator_;
  Endpoint initiator_;
  Endpoint target_;
  Random local_random_;
  Random remote_random_;
  std::vector<ScatterGather> elements_;  ///< of the list that is being posted
  std::vector<SendRequest> requests_;
  MessageLedger ledger_;
  ReceivedMessages received_;
  WindowLeases windows_;  ///< of send_invalidate
  std::unique_ptr<PairOperation> operation_;
  std::uint64_t target_flushed_ = 0;
  std::uint64_t target_in_error_ = 0;
  std::uint64_t initiator_in_error_ = 0;
  std::uint64_t mismatched_ = 0;
};

}  // namespace rnicsim
