// SPDX-License-Identifier: MIT
// The workload pattern "pairs" with one-sided WRITEs: two programs that do what an application
// does, through the verbs library only.
//
//   target (B)                               initiator (A)
//   1 starts                                 1 starts
//   2 registers its region                   2 registers its buffer
//   creates queue pairs                      creates queue pairs
//       <---- queue pair numbers, PSNs ------
//   3   ----- the same, address, length, rkey ---->
//   sleeps                                   4 posts WRITEs, polls for completions
//       <---- finished ----------------------
//
// Messages go round robin over the queue pairs, each of which keeps to its own share of both
// regions (chunk c of a region belongs to queue pair c modulo their number), so what the target's
// memory must hold at the end does not depend on how queue pairs interleave; it is compared byte by
// byte unless payload is elided, except where a message failed after injected faults of a link.
// With a `fault` the target falsifies what it hands over; after a failure it posts one WRITE of its
// own on each queue pair, to show that it is flushed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/control_channel.h"
#include "host/host.h"
#include "model/metrics.h"
#include "model/random.h"
#include "model/software_thread.h"
#include "scenarios/engine/message_ledger.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/system.h"
#include "scenarios/engine/timeline.h"

namespace rnicsim {

class PairWorkload {
 public:
  /// The programs take the given cores. `observer` gets their probes, `timeline` is told which work
  /// requests to show; both may be null.
  PairWorkload(System& system, const WorkloadSpec& spec, const Scenario& scenario,
               unsigned initiator_core, unsigned target_core, ProbeSink* observer,
               Timeline* timeline);

  bool finished() const { return initiator_.thread->finished() && target_.thread->finished(); }
  /// One line a program or flow that has not finished: what it waits for.
  std::vector<std::string> waiting_for() const;
  /// A payload byte of this work request's NIC became visible at its target.
  void landed(WorkRequestId work_request, Time time);
  /// Every posted message has exactly one fate; violations if not.
  void check_completions(std::vector<Violation>& violations) const;
  /// Payload of the messages completed with success.
  Bytes delivered() const { return ledger_.delivered(); }
  /// Messages failed after a link had lost or damaged packets: what the target's memory holds of
  /// them is unknown.
  bool may_have_landed_in_part() const {
    return system_.disturbed_packets() != 0 && ledger_.unsuccessful() != 0;
  }
  const std::string& target_host() const { return target_.host; }
  /// Compares the target's memory with what it must hold; violations on difference.
  void verify(std::vector<Violation>& violations);
  void report(MetricSink& sink) const;

 private:
  /// One of the two programs.
  struct Side {
    std::string host;
    std::unique_ptr<Process> process;
    std::unique_ptr<SoftwareThread> thread;
    PortIdentity port;
    PdNumber pd;
    MemoryRegion region;
    CompletionQueue* cq = nullptr;
    std::vector<QueuePair*> qps;
    Probe probe;
    const char* doing = "starting";
  };
  /// What the two sides tell each other to connect, and B to A of its memory.
  struct Introduction {
    PortIdentity port;
    std::vector<std::uint32_t> qpns;
    VirtualAddress address;
    std::uint64_t length = 0;
    MemoryKey rkey;
    ControlMessage encode() const;
    static Introduction decode(const ControlMessage& message);
  };

  void start(Side& side, CpuCore& core, const char* role, void (PairWorkload::*body)(CpuTask&),
             ProbeSink* observer, std::uint32_t component);
  void prepare(Side& side, CpuTask& task, std::uint64_t fill_seed, AccessFlags access);
  void create_queue_pairs(Side& side, CpuTask& task, AccessFlags access);
  void connect(Side& side, CpuTask& task, const Introduction& peer);
  [[noreturn]] void out_of_memory(const Side& side, const std::string& what) const;
  static void require(Errno error, const char* call);
  void initiator(CpuTask& task);
  void target(CpuTask& task);
  void stream(CpuTask& task, const Introduction& peer);
  bool post_next(CpuTask& task, const Introduction& peer);
  void falsify(CpuTask& task, Introduction& introduction);
  void post_after_failure(CpuTask& task);
  std::uint64_t next_offset(OffsetPattern pattern, std::uint64_t nth, std::uint32_t qp,
                            Random& random) const;
  std::uint64_t chunks_per_qp() const;

  System& system_;
  WorkloadSpec spec_;
  bool elided_;
  PageSize initiator_pages_;
  PageSize target_pages_;
  std::uint64_t initiator_seed_;
  std::uint64_t target_seed_;
  Timeline* timeline_;
  std::uint64_t tracked_;  ///< the first so many messages are shown on the timeline
  ControlChannel to_target_;
  ControlChannel to_initiator_;
  Side initiator_;
  Side target_;
  Random local_random_;
  Random remote_random_;
  MessageLedger ledger_;
  std::uint64_t target_flushed_ = 0;
  std::uint64_t target_in_error_ = 0;
  std::uint64_t initiator_in_error_ = 0;
  std::uint64_t mismatched_ = 0;
};

}  // namespace rnicsim
