// SPDX-License-Identifier: MIT
#include "nic/receive_flusher.h"

namespace rnicsim {

void ReceiveFlusher::flush(NicQueuePair& qp, std::uint64_t behind) {
  if (qp.flushing_receives) {
    qp.flush_asked = 0;  // a record read before now may not tell of what was posted meanwhile
    return;
  }
  qp.flushing_receives = true;
  waiting_.push({&qp, behind});
  serve();
}

void ReceiveFlusher::serve() {
  while (!waiting_.empty() && w_.requests.first() >= waiting_.front().behind &&
         flush_some(*waiting_.front().qp))
    waiting_.take().qp->flushing_receives = false;
}

/// False: not all yet.
bool ReceiveFlusher::flush_some(NicQueuePair& qp) {
  const std::uint32_t index = qp.qpn.value();
  abi::QpContext* context = w_.contexts.lookup(index, call<&ReceiveFlusher::serve>(this));
  if (context == nullptr) return false;
  if (context->state != QpState::kErr) return true;  // reset meanwhile
  while (true) {
    if (!w_.cqe_writer.has_room()) return false;
    std::uint16_t counter = 0;
    if (qp.receive != 0) {
      counter = w_.pool.at(qp.receive).counter;
      w_.pool.drop(qp.receive);
    } else if ((context->flags & abi::QpContext::kHasReceiveQueue) == 0) {
      return true;
    } else {
      const auto taken =
          w_.queues.take_for_flush(qp, *context, counter, call<&ReceiveFlusher::serve>(this));
      if (taken == ReceiveQueues::Taken::kEmpty) return true;
      if (taken == ReceiveQueues::Taken::kWait) return false;
      w_.contexts.mark_dirty(index);
    }
    abi::Cqe cqe;
    cqe.opcode = abi::CqeOpcode::kResponseError;
    cqe.status = CompletionStatus::kFlushed;
    cqe.qpn = qp.qpn;
    cqe.wqe_counter = counter;
    ++flushed_;
    w_.cqe_writer.write(context->receive_cqn, cqe, {}, w_.scheduler.now());
  }
}

void ReceiveFlusher::report(const MetricScope& scope) const {
  scope.count("resp_cqe_flush_error", flushed_, "receives flushed");
}

}  // namespace rnicsim
