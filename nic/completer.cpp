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
  acks_waiting_.push({std::move(packet), ready, false, false});
  most_waiting_ = std::max(most_waiting_, acks_waiting_.size());
  if (acks_waiting_.size() == 1) serve();
}

void Completer::serve() {
  while (!acks_waiting_.empty()) {
    Waiting& front = acks_waiting_.front();
    const Qpn qpn = front.packet->bth.dest_qp;
    if (!contexts_.in_range(qpn.value())) {
      ++unexpected_;
      pop_ack();
      continue;
    }
    abi::QpContext* context = contexts_.lookup(qpn.value(), call<&Completer::serve>(this));
    if (context == nullptr) {
      if (context_since_ == Time::never()) context_since_ = scheduler_.now();
      return;
    }
    if (context_since_ != Time::never()) {
      stalled_context_ += scheduler_.now() - context_since_;
      context_since_ = Time::never();
    }
    if (!front.entered) {
      front.ready = pipeline_.enter(context_port_.enter(std::max(front.ready, scheduler_.now())));
      front.entered = true;
    }
    const Time ready = std::max(front.ready, scheduler_.now());
    if (!acknowledge(qps_.at(qpn), *context, front, ready)) return;
    pop_ack();
  }
}

void Completer::pop_ack() {
  mac_rx_->release(*acks_waiting_.front().packet);
  acks_waiting_.pop();
}

/// True: there is no room for another completion; go_on() runs when there is.
bool Completer::wait_for_writer() {
  if (cqe_writer_.has_room()) return false;
  if (writer_since_ == Time::never()) writer_since_ = scheduler_.now();
  return true;
}

void Completer::go_on() {
  if (writer_since_ != Time::never()) {
    stalled_writer_ += scheduler_.now() - writer_since_;
    writer_since_ = Time::never();
  }
  for (std::size_t n = failing_.size(); n != 0; --n) retry_failed(failing_.take());
  flush_waiting();
  if (!acks_waiting_.empty() && acks_waiting_.front().entered) serve();
}

/// False: it waits for the CQE writer, and is to be called again.
bool Completer::acknowledge(NicQueuePair& qp, abi::QpContext& context, Waiting& waiting,
                            Time ready) {
  const Packet& packet = *waiting.packet;
  const Aeth& aeth = packet.aeth;
  const Psn psn = packet.bth.psn;
  const bool usable = packet.bth.opcode == RcOpcode::kAcknowledge && !aeth.is_rnr_nak() &&
                      sends(context.state) && psn - context.next_send_psn < 0;
  if (!usable) {
    ++unexpected_;
    return true;
  }
  if (!waiting.reported)
    probe(ready, ProbeKind::kAckReceived, packet.work_request, packet.id, psn.value(),
          aeth.syndrome);
  waiting.reported = true;
  if (!complete_before(qp, context, aeth.is_ack() ? psn + 1 : psn, ready)) return false;
  if (!aeth.is_ack() && sends(context.state) &&
      !fail_front(qp, context, status_of(aeth.nak_code()), ready))
    return false;
  ++(aeth.is_ack() ? acks_ : naks_);
  return true;
}

/// Completes the messages whose last PSN precedes `limit`. False: not all of them yet.
bool Completer::complete_before(NicQueuePair& qp, const abi::QpContext& context, Psn limit,
                                Time ready) {
  while (!qp.outstanding.empty()) {
    const OutstandingMessage& front = qp.outstanding.front();
    if (front.local_error != CompletionStatus::kSuccess)
      return fail_front(qp, *contexts_.peek(qp.qpn.value()), front.local_error, ready);
    if (front.last_psn - limit >= 0) return true;
    if (front.signaled) {
      if (wait_for_writer()) return false;
      complete(qp, context.send_cqn, front, CompletionStatus::kSuccess, ready);
    }
    ++completed_;
    qp.outstanding.pop();
  }
  return true;
}

/// The oldest message fails; if it is still being sent, it is the one at the head of the queue.
/// False: it has to wait for the CQE writer.
bool Completer::fail_front(NicQueuePair& qp, abi::QpContext& context, CompletionStatus status,
                           Time ready) {
  if (wait_for_writer()) return false;
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
    return true;
  }
  complete(qp, context.send_cqn, failed, status, ready);
  enter_error(qp, context, status);
  return true;
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
  if (status != CompletionStatus::kSuccess && !fail_front(qp, *context, status, scheduler_.now()))
    failing_.push(qpn);
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
  qp.flush_cqn = context.send_cqn;
  if (!qp.flushing) flushing_.push(&qp);
  qp.flushing = true;
  flush_waiting();
}

/// In the order in which the queue pairs went to error.
void Completer::flush_waiting() {
  while (!flushing_.empty() && flush_some(*flushing_.front())) {
    NicQueuePair& qp = *flushing_.take();
    qp.flushing = false;
    qp.retire_wqes();
    wqe_fetch_->resume(qp.qpn);
  }
}

/// False: not all yet.
bool Completer::flush_some(NicQueuePair& qp) {
  const Time now = scheduler_.now();
  while (!qp.outstanding.empty()) {
    if (wait_for_writer()) return false;
    complete(qp, qp.flush_cqn, qp.outstanding.front(), CompletionStatus::kFlushed, now);
    qp.outstanding.pop();
    ++flushed_;
  }
  while (qp.has_wqe_to_send()) {
    if (wait_for_writer()) return false;
    const SendWqe& wqe = qp.wqe(qp.sending);
    OutstandingMessage message;
    message.wqe_index = wqe.block;
    message.opcode = wqe.opcode;
    message.id = wqe.id;
    complete(qp, qp.flush_cqn, message, CompletionStatus::kFlushed, now);
    ++qp.sending;
    ++flushed_;
  }
  qp.offset = 0;
  qp.started = false;
  return true;
}

void Completer::complete(const NicQueuePair& qp, Cqn cqn, const OutstandingMessage& message,
                         CompletionStatus status, Time ready) {
  abi::Cqe cqe;
  cqe.opcode = status == CompletionStatus::kSuccess ? abi::CqeOpcode::kRequest
                                                    : abi::CqeOpcode::kRequestError;
  cqe.status = status;
  cqe.qpn = qp.qpn;
  cqe.wqe_counter = message.wqe_index;
  cqe.byte_count = message.bytes;
  cqe_writer_.write(cqn, cqe, message.id, ready);
}

void Completer::report(const MetricScope& scope) const {
  scope.count("acks", acks_, "acknowledgements received");
  scope.count("naks", naks_, "negative acknowledgements received");
  scope.count("unexpected", unexpected_, "responses that answer nothing outstanding");
  scope.count("completed", completed_, "work requests completed with success");
  scope.count("flushed", flushed_, "work requests flushed");
  scope.time("busy", pipeline_.busy(), "time the completer's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "acknowledgements waited for the pipeline");
  scope.time("stalled.context", stalled_context_,
             "time in which an acknowledgement waited for its context");
  scope.time("stalled.cqe_writer", stalled_writer_,
             "time in which completions waited for the CQE writer");
  scope.count("occupancy.max", most_waiting_, "most acknowledgements waiting for their context");
}

}  // namespace rnicsim
