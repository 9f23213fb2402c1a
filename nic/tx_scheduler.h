// SPDX-License-Identifier: MIT
// Which queue pair sends next: round robin, a packet a turn, among those that have something to
// send and whose pacing time has come. Takes no time of its own (the requester's pipeline has it).
#pragma once

#include "model/callback.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "nic/queue_pair.h"

namespace rnicsim {

class TxScheduler {
 public:
  /// `kick` runs whenever a queue pair becomes ready.
  TxScheduler(Scheduler& scheduler, QueuePairTable& qps, Callback kick)
      : scheduler_(scheduler), qps_(qps), kick_(kick) {}

  /// The queue pair may send from `from` on, which may be past. REQUIRES: it is not in here
  /// already.
  void add(NicQueuePair& qp, Time from) {
    if (from <= scheduler_.now())
      push(qp, from);
    else
      scheduler_.at(from, call<&TxScheduler::due>(this, qp.qpn.value()));
  }
  bool empty() const { return ready_.empty(); }
  /// Since when the next in turn may send. REQUIRES: !empty().
  Time ready_since() const { return ready_.front().since; }
  NicQueuePair& take() { return *ready_.take().qp; }

 private:
  struct Ready {
    NicQueuePair* qp = nullptr;
    Time since;
  };
  void due(std::uint64_t qpn) {
    push(qps_.at(Qpn(static_cast<std::uint32_t>(qpn))), scheduler_.now());
  }
  void push(NicQueuePair& qp, Time since) {
    ready_.push({&qp, since});
    kick_();
  }
  Scheduler& scheduler_;
  QueuePairTable& qps_;
  Callback kick_;
  Ring<Ready> ready_;
};

}  // namespace rnicsim
