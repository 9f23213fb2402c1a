// SPDX-License-Identifier: MIT
#include "nic/completer.h"

#include <algorithm>

#include "nic/wqe_fetch.h"

namespace rnicsim {

namespace {

CompletionStatus status_of(NakCode code) {
  switch (code) {
    case NakCode::kPsnSequenceError:
      return CompletionStatus::kRetryExceeded;
    case NakCode::kInvalidRequest:
      return CompletionStatus::kRemoteInvalidRequest;
    case NakCode::kRemoteAccessError:
      return CompletionStatus::kRemoteAccessError;
    case NakCode::kRemoteOperationalError:
      return CompletionStatus::kRemoteOperationError;
  }
  return CompletionStatus::kBadResponse;
}

/// States in which acknowledgements of what has been sent are still waited for (SQD: the send queue
/// drains).
bool sends(QpState state) { return state == QpState::kRts || state == QpState::kSqd; }

}  // namespace

void Completer::receive(PacketRef packet, Time ready) {
  acks_waiting_.push({std::move(packet), ready});
  most_waiting_ = std::max(most_waiting_, acks_waiting_.size());
  if (acks_waiting_.size() == 1) serve();
}

void Completer::serve() {
  while (!acks_waiting_.empty()) {
    const Waiting& front = acks_waiting_.front();
    const Qpn qpn = front.packet->bth.dest_qp;
    if (!contexts_.in_range(qpn.value())) {
      ++unexpected_;
      acks_waiting_.pop();
      continue;
    }
    abi::QpContext* context = contexts_.lookup(qpn.value(), call<&Completer::serve>(this));
    if (context == nullptr) return;
    const Time ready = pipeline_.enter(std::max(front.ready, scheduler_.now()));
    acknowledge(qps_.at(qpn), *context, *front.packet, ready);
    acks_waiting_.pop();
  }
}

void Completer::acknowledge(NicQueuePair& qp, abi::QpContext& context, const Packet& packet,
                            Time ready) {
  const Aeth& aeth = packet.aeth;
  const Psn psn = packet.bth.psn;
  const bool usable = packet.bth.opcode == Opcode::kAcknowledge && !aeth.is_rnr_nak() &&
                      sends(context.state) && psn - context.next_send_psn < 0;
  if (!usable) {
    ++unexpected_;
    return;
  }
  probe(ready, ProbeKind::kAckReceived, packet.work_request, packet.id, psn.value(), aeth.syndrome);
  if (aeth.is_ack()) {
    ++acks_;
    complete_before(qp, context, psn + 1, ready);
  } else {
    ++naks_;
    complete_before(qp, context, psn, ready);
    if (sends(context.state)) fail_front(qp, context, status_of(aeth.nak_code()), ready);
  }
}

/// Completes the messages whose last PSN precedes `limit`.
void Completer::complete_before(NicQueuePair& qp, const abi::QpContext& context, Psn limit,
                                Time ready) {
  while (!qp.outstanding.empty()) {
    const OutstandingMessage& front = qp.outstanding.front();
    if (front.local_error != CompletionStatus::kSuccess) {
      fail_front(qp, *contexts_.peek(qp.qpn.value()), front.local_error, ready);
      return;
    }
    if (front.last_psn - limit >= 0) return;
    ++completed_;
    if (front.signaled) complete(qp, context, front, CompletionStatus::kSuccess, ready);
    qp.outstanding.pop();
  }
}

/// The oldest message fails; if it is still being sent, it is the one at the head of the queue.
void Completer::fail_front(NicQueuePair& qp, abi::QpContext& context, CompletionStatus status,
                           Time ready) {
  OutstandingMessage failed;
  if (!qp.outstanding.empty()) {
    failed = qp.outstanding.front();
    qp.outstanding.pop();
  } else if (qp.has_wqe_to_send() && qp.started) {
    const SendWqe& wqe = qp.wqe(qp.sending);
    failed.wqe_index = wqe.block;
    failed.opcode = wqe.opcode;
    failed.id = wqe.id;
    ++qp.sending;
  } else {
    ++unexpected_;
    return;
  }
  complete(qp, context, failed, status, ready);
  enter_error(qp, context, status);
}

void Completer::message_failed(NicQueuePair& qp, WorkRequestId id, CompletionStatus status) {
  bool found = false;
  for (std::size_t i = 0; i < qp.outstanding.size() && !found; ++i) {
    if (qp.outstanding.at(i).id == id) {
      qp.outstanding.at(i).local_error = status;
      found = true;
    }
  }
  if (!found) {
    const SendWqe& wqe = qp.wqe(qp.sending);
    OutstandingMessage message;
    message.wqe_index = wqe.block;
    message.opcode = wqe.opcode;
    message.local_error = status;
    message.id = wqe.id;
    qp.outstanding.push(message);
    ++qp.sending;
    qp.offset = 0;
    qp.started = false;
  }
  retry_failed(qp.qpn.value());
}

void Completer::retry_failed(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  abi::QpContext* context = contexts_.lookup(index, call<&Completer::retry_failed>(this, qpn));
  if (context == nullptr) return;
  NicQueuePair& qp = qps_.at(Qpn(index));
  if (qp.outstanding.empty()) return;
  const CompletionStatus status = qp.outstanding.front().local_error;
  if (status != CompletionStatus::kSuccess) fail_front(qp, *context, status, scheduler_.now());
}

void Completer::enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause) {
  if (context.state == QpState::kErr) return;
  context.state = QpState::kErr;
  contexts_.mark_dirty(qp.qpn.value());
  probe(scheduler_.now(), ProbeKind::kQpError, {}, 0, qp.qpn.value(),
        static_cast<std::uint64_t>(cause));
  flush(qp, context);
}

void Completer::flush(NicQueuePair& qp, const abi::QpContext& context) {
  qp.void_window();
  const Time now = scheduler_.now();
  while (!qp.outstanding.empty()) {
    complete(qp, context, qp.outstanding.front(), CompletionStatus::kFlushed, now);
    qp.outstanding.pop();
    ++flushed_;
  }
  while (qp.has_wqe_to_send()) {
    const SendWqe& wqe = qp.wqe(qp.sending);
    OutstandingMessage message;
    message.wqe_index = wqe.block;
    message.opcode = wqe.opcode;
    message.id = wqe.id;
    complete(qp, context, message, CompletionStatus::kFlushed, now);
    ++qp.sending;
    ++flushed_;
  }
  qp.offset = 0;
  qp.started = false;
  qp.retire_wqes();
  wqe_fetch_->resume(qp.qpn);
}

void Completer::complete(const NicQueuePair& qp, const abi::QpContext& context,
                         const OutstandingMessage& message, CompletionStatus status, Time ready) {
  abi::Cqe cqe;
  cqe.opcode = status == CompletionStatus::kSuccess ? abi::CqeOpcode::kRequest
                                                    : abi::CqeOpcode::kRequestError;
  cqe.status = status;
  cqe.qpn = qp.qpn;
  cqe.wqe_counter = message.wqe_index;
  cqe.byte_count = message.bytes;
  cqe_writer_.write(context.send_cqn, cqe, message.id, ready);
}

void Completer::report(const MetricScope& scope) const {
  scope.count("acks", acks_, "acknowledgements received");
  scope.count("naks", naks_, "negative acknowledgements received");
  scope.count("unexpected", unexpected_, "responses that answer nothing outstanding");
  scope.count("completed", completed_, "work requests completed with success");
  scope.count("flushed", flushed_, "work requests flushed");
  scope.time("busy", pipeline_.busy(), "time the completer's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "acknowledgements waited for the pipeline");
  scope.count("occupancy.max", most_waiting_, "most acknowledgements waiting for their context");
}

}  // namespace rnicsim
