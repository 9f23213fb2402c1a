// SPDX-License-Identifier: MIT
// Completes the work requests of send queues in the order in which they were posted: what has been
// acknowledged, a READ or atomic when its data have been handed to PCIe. Unsignaled work requests
// complete silently unless they fail. Of a queue pair in error the message that failed completes
// with its status, and all work behind it, sent or only fetched, is flushed in order. A send queue
// that has drained (SQD) is told by an event behind the entries of what it completed.
//
// A full CQE writer holds up completions of the queue pairs that have some, which then take their
// turns one after another.
// Connects to: the completer, which owns it and says what has come; cqe_writer; requester and
// wqe_fetch (room for more), retransmitter (nothing is waited for any more).
#pragma once

#include "model/metrics.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/cqe_writer.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class Completer;
class Requester;
class Retransmitter;
class WqeFetch;

class SendCompletions {
 public:
  struct Wiring {
    Scheduler& scheduler;
    QpContextCache& contexts;
    QueuePairTable& qps;
    CqeWriter& cqe_writer;
    Completer& completer;
  };
  explicit SendCompletions(const Wiring& wiring) : w_(wiring) {}
  void connect(WqeFetch& wqe_fetch, Requester& requester, Retransmitter& retransmitter) {
    wqe_fetch_ = &wqe_fetch;
    requester_ = &requester;
    retransmitter_ = &retransmitter;
  }

  /// Completes what can be, in order.
  void advance(NicQueuePair& qp, Time ready);
  /// A send queue that drains, if software asked for it: has it ended what it had begun?
  void check_drained(NicQueuePair& qp);
  /// The CQE writer has room again.
  void go_on();
  bool idle() const { return completing_.empty(); }
  void report(const MetricScope& scope) const;

 private:
  bool complete_some(NicQueuePair& qp, Time ready);
  bool flush_unsent(NicQueuePair& qp, Time ready);
  void fail_oldest(std::uint64_t qpn);
  bool wait_for_writer();
  void complete(const NicQueuePair& qp, const OutstandingMessage& message, CompletionStatus status,
                Time ready);

  Wiring w_;
  WqeFetch* wqe_fetch_ = nullptr;
  Requester* requester_ = nullptr;
  Retransmitter* retransmitter_ = nullptr;
  Ring<NicQueuePair*> completing_;  ///< with completions that wait for the CQE writer
  Time writer_since_ = Time::never();
  Time stalled_writer_;
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t flushed_ = 0;
};

}  // namespace rnicsim
