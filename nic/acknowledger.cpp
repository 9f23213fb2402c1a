// SPDX-License-Identifier: MIT
#include "nic/acknowledger.h"

#include <utility>

#include "nic/read_responder.h"

namespace rnicsim {

bool Acknowledger::answer(InboundRequest& request, const InboundRequest* next) {
  if (request.missing.count != 0 && !name_missing(request)) return false;
  const bool acknowledges = request.verdict == Verdict::kTake && request.packet->bth.ack_req &&
                            request.packet->bth.transport == WireTransport::kRc;
  if (request.verdict == Verdict::kDrop || request.verdict == Verdict::kKept ||
      (request.verdict == Verdict::kTake && !acknowledges))
    return true;
  if (acknowledges && is_coalesced(request, next)) {
    ++coalesced_;
    return true;
  }
  const Qpn qpn = request.qpn();
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), w_.drain);
  if (context == nullptr) return false;
  NicQueuePair& qp = w_.qps.at(qpn);
  if (request.verdict != Verdict::kRead && request.verdict != Verdict::kAtomic &&
      request.verdict != Verdict::kAgain)
    return send_acknowledge(request, qp, *context);
  owe_answer(request, qp);
  return true;
}

void Acknowledger::owe_answer(const InboundRequest& request, NicQueuePair& qp) {
  OwedResponse owed;
  owed.kind =
      request.verdict == Verdict::kRead ? OwedResponse::Kind::kRead : OwedResponse::Kind::kAtomic;
  owed.aeth = request.aeth;
  owed.psn = request.packet->bth.psn;
  owed.key = request.packet->reth.r_key;
  owed.address = request.packet->reth.virtual_address;
  owed.length = request.verdict == Verdict::kRead ? request.packet->reth.dma_length : 0;
  owed.original = request.original;
  owed.id = request.packet->work_request;
  owed.again = request.again || request.verdict == Verdict::kAgain;
  if (request.again && !w_.selective) forget_answers(qp, owed.psn);
  if (w_.selective)
    owe_in_place(qp, owed);
  else
    qp.owed.push(owed);
  read_responder_->owes(qp);
}

/// In PSN order: what is asked for again is waited for before all that is owed anew.
void Acknowledger::owe_in_place(NicQueuePair& qp, const OwedResponse& owed) {
  qp.owed.push(owed);
  for (std::size_t i = qp.owed.size() - 1; i > 0 && owed.psn - qp.owed.at(i - 1).psn < 0; --i)
    std::swap(qp.owed.at(i), qp.owed.at(i - 1));
}

/// Who asks again for a READ asks again for all that follows it, too: that would come twice, and
/// what is wanted only after it. Who asks from the middle of one on has missed a packet, and what
/// is on its way to the wire is void as well; from the first packet on it may be a copy of the
/// request that the network made, and nobody would ask for those answers before a timeout.
void Acknowledger::forget_answers(NicQueuePair& qp, Psn psn) {
  std::size_t kept = 0;
  while (kept < qp.owed.size() && qp.owed.at(kept).psn - psn < 0) ++kept;
  qp.owed.truncate(kept);
  if (psn - qp.answering_first <= 0 || psn - qp.answering_end >= 0) return;
  ++qp.response_epoch;
  ++qp.answer_epoch;
  qp.answers_under_way = 0;
}

/// The next packet of the same queue pair is through as well: its acknowledgement says it all.
bool Acknowledger::is_coalesced(const InboundRequest& request, const InboundRequest* next) {
  return next != nullptr && next->verdict == Verdict::kTake && !next->refused_late &&
         next->packet->bth.ack_req && next->qpn() == request.qpn();
}

/// True: the port's response queue is full; drain() when it is not.
bool Acknowledger::wait_for_port(const abi::QpContext& context) {
  if (w_.mac_tx.has_room_for_response(w_.mac_tx.priority_of(context))) return false;
  if (!waits_for_port_) port_since_ = w_.scheduler.now();
  waits_for_port_ = true;
  return true;
}

void Acknowledger::transmit(const InboundRequest& request, const abi::QpContext& context, Psn psn,
                            Aeth aeth, Time ready) {
  PacketRef ack = w_.port.make(context, Opcode::kAcknowledge, psn);
  ack->aeth = aeth;
  ack->work_request = request.packet->work_request;
  ack->departed = request.packet->departed;
  ack->copy_telemetry(*request.packet);
  w_.mac_tx.enqueue(std::move(ack), ready, MacTx::Queue::kResponse);
}

/// Selective repeat: a NAK for each PSN that the request shows to be missing. False: not yet all.
bool Acknowledger::name_missing(InboundRequest& request) {
  const abi::QpContext* context =
      w_.contexts.lookup(request.qpn().value(), w_.drain, request.packet->work_request);
  if (context == nullptr) return false;
  const Aeth aeth = Aeth::nak(context->msn, NakCode::kPsnSequenceError);
  for (Hole& missing = request.missing; missing.count != 0; --missing.count, ++missing.first) {
    if (wait_for_port(*context)) return false;
    ++naks_;
    const Time ready = pipeline_.enter(w_.scheduler.now());
    w_.probe(ready, ProbeKind::kAckSent, request.packet->work_request, request.packet->id,
             missing.first.value(), aeth.syndrome);
    transmit(request, *context, missing.first, aeth, ready);
  }
  return true;
}

bool Acknowledger::send_acknowledge(const InboundRequest& request, NicQueuePair& qp,
                                    const abi::QpContext& context) {
  const bool in_order = qp.owed.empty() && qp.answers_under_way == 0;
  if (in_order && wait_for_port(context)) return false;
  if (request.aeth.is_ack()) ++acks_;
  if (request.aeth.is_nak()) ++naks_;
  if (request.aeth.is_rnr_nak()) ++rnr_naks_;
  const Time ready = pipeline_.enter(w_.scheduler.now());
  w_.probe(ready, ProbeKind::kAckSent, request.packet->work_request, request.packet->id,
           request.ack_psn.value(), request.aeth.syndrome);
  if (!in_order) {
    OwedResponse owed;
    owed.aeth = request.aeth;
    owed.psn = request.ack_psn;
    owed.id = request.packet->work_request;
    qp.owed.push(owed);
    read_responder_->owes(qp);
    return true;
  }
  transmit(request, context, request.ack_psn, request.aeth, ready);
  return true;
}

void Acknowledger::response_started() {
  if (!waits_for_port_) return;
  waits_for_port_ = false;
  stalled_port_ += w_.scheduler.now() - port_since_;
  w_.drain();
}

void Acknowledger::report(const MetricScope& scope) const {
  scope.count("acks", acks_, "acknowledgements sent");
  scope.count("acks_coalesced", coalesced_, "acknowledgements left out: the next said it as well");
  scope.count("naks", naks_, "negative acknowledgements sent");
  scope.count("rnr_naks", rnr_naks_, "RNR NAKs sent: no receive was posted, or a page was absent");
  scope.time("stalled.port", stalled_port_,
             "time in which an acknowledgement waited for the port's response queue");
}

}  // namespace rnicsim
