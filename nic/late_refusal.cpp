// SPDX-License-Identifier: MIT
#include "nic/late_refusal.h"

#include "nic/completer.h"
#include "nic/request_check.h"

namespace rnicsim {

void LateRefusal::cancel(InboundRequest& request) {
  if (request.verdict == Verdict::kAtomic && !request.executed) w_.judge.atomic_ended();
  request.verdict = Verdict::kDrop;
  if (!request.cqe_due) return;
  // The end of a message of which an earlier packet could not be written tells why.
  const NicQueuePair& qp = w_.qps.at(request.qpn());
  const bool same = request.receive != 0 && request.receive == qp.failed_receive;
  request.cqe.opcode = abi::CqeOpcode::kResponseError;
  request.cqe.status = same ? CompletionStatus::kLocalProtectionError : CompletionStatus::kFlushed;
}

void LateRefusal::refuse(InboundRequest& request, std::uint64_t sequence, KeyFault fault) {
  request.refused_late = true;
  request.fault = fault;
  if (request.verdict == Verdict::kAtomic) w_.judge.atomic_ended();
  NicQueuePair& qp = w_.qps.at(request.qpn());
  qp.receive_failed = true;
  qp.receive_failed_at = sequence;
  qp.failed_receive = request.receive;
}

bool LateRefusal::answer(InboundRequest& request) {
  const Qpn qpn = request.qpn();
  abi::QpContext* context = w_.contexts.lookup(qpn.value(), w_.drain);
  if (context == nullptr) return false;
  request.refused_late = false;
  const bool local = request.receive != 0;
  const bool ended = request.cqe_due;
  request.cqe_due = false;
  request.verdict = Verdict::kDrop;
  NicQueuePair& qp = w_.qps.at(qpn);
  const bool reliable = context->transport == Transport::kRc;
  if (!reliable && !local) {  // the message is lost in silence
    qp.receive_failed = false;
    return true;
  }
  const bool fails = receives(context->state);
  if (ended) {
    request.cqe.opcode = abi::CqeOpcode::kResponseError;
    request.cqe.status =
        local && fails ? CompletionStatus::kLocalProtectionError : CompletionStatus::kFlushed;
    request.cqe_due = true;
  }
  if (!fails) return true;
  // What was accepted behind it meanwhile is not complete: the NAK counts what came before.
  const std::uint32_t own = ends_message(request.packet->bth.opcode) ? 1 : 0;
  const std::uint32_t msn = request.aeth.msn - own;
  // The queue pair's present receive may be that of a later message: it is flushed in its turn.
  if (local && !ended && qp.receive == request.receive)
    w_.messages.fail(request, qp, CompletionStatus::kLocalProtectionError);
  if (!reliable) {
    completer_->enter_error(qp, *context, CompletionStatus::kLocalProtectionError);
    return true;
  }
  request.check.fault = request.fault;
  const NakCode code = local ? NakCode::kRemoteOperationalError : NakCode::kRemoteAccessError;
  w_.judge.refuse(request, qp, *context, code);
  request.aeth = Aeth::nak(msn, code);
  return true;
}

}  // namespace rnicsim
