// SPDX-License-Identifier: MIT
// Which queue pair sends next: of each priority round robin, a packet a turn, among those that have
// something to send and whose pacing time has come. Which priority is the requester's choice. Takes
// no time of its own (the requester's pipeline has it).
#pragma once

#include <array>

#include "model/callback.h"
#include "model/priority_arbiter.h"
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
      wait(qp, from);
  }
  /// A queue pair that waits for a later time, if it is in here, may send from `from` on.
  void hurry(NicQueuePair& qp, Time from) {
    if (qp.turn_due == Time::never() || from >= qp.turn_due) return;
    if (from > scheduler_.now()) {
      wait(qp, from);
      return;
    }
    qp.turn_due = Time::never();
    push(qp, scheduler_.now());
  }
  bool empty() const { return waiting_ == 0; }
  /// Priorities that have somebody ready.
  PrioritySet waiting() const { return waiting_; }
  /// Since when the next in turn may send. REQUIRES: contains(waiting(), priority).
  Time ready_since(std::uint8_t priority) const { return ready_[priority].front().since; }
  NicQueuePair& take(std::uint8_t priority) {
    NicQueuePair& qp = *ready_[priority].take().qp;
    if (ready_[priority].empty())
      waiting_ = static_cast<PrioritySet>(waiting_ & ~priority_bit(priority));
    return qp;
  }

 private:
  struct Ready {
    NicQueuePair* qp = nullptr;
    Time since;
  };
  void wait(NicQueuePair& qp, Time until) {
    qp.turn_due = until;
    scheduler_.at(until, call<&TxScheduler::due>(this, qp.qpn.value()));
  }
  void due(std::uint64_t qpn) {
    NicQueuePair& qp = qps_.at(Qpn(static_cast<std::uint32_t>(qpn)));
    if (qp.turn_due != scheduler_.now()) return;  // it was hurried
    qp.turn_due = Time::never();
    push(qp, scheduler_.now());
  }
  void push(NicQueuePair& qp, Time since) {
    ready_[qp.priority].push({&qp, since});
    waiting_ = static_cast<PrioritySet>(waiting_ | priority_bit(qp.priority));
    kick_();
  }
  Scheduler& scheduler_;
  QueuePairTable& qps_;
  Callback kick_;
  PrioritySet waiting_ = 0;
  std::array<Ring<Ready>, kPriorities> ready_;
};

}  // namespace rnicsim
