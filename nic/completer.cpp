// SPDX-License-Identifier: MIT
#include "nic/completer.h"

#include <algorithm>
#include <utility>

#include "nic/responder.h"
#include "nic/retransmitter.h"

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

}  // namespace

void CompleterConfig::describe(Fields& fields) {
  pipeline.describe(fields);
  fields.field("window", window, range(1, 1024),
               "READ responses that translate and write to host memory at once");
  fields.field("prefetch_contexts", prefetch_contexts, range(0, 1024),
               "packets that wait whose queue pairs' contexts are fetched before their turn");
}

Completer::Completer(const Wiring& wiring, const CompleterConfig& config)
    : w_(wiring),
      context_port_(wiring.contexts.add_port(wiring.clock)),
      pipeline_(wiring.clock, config.pipeline),
      most_ahead_(config.prefetch_contexts),
      early_(wiring.reorder_buffer),
      answers_(
          {wiring.scheduler, wiring.clock, wiring.pcie, wiring.contexts, wiring.key_checker, *this,
           probe, wiring.selective, wiring.elided, call<&Completer::answers_have_room>(this)},
          config.window),
      completions_({wiring.scheduler, wiring.contexts, wiring.qps, wiring.cqe_writer, *this}) {}

void Completer::connect(WqeFetch& wqe_fetch, MacRx& mac_rx, Requester& requester,
                        Responder& responder, Retransmitter& retransmitter) {
  mac_rx_ = &mac_rx;
  responder_ = &responder;
  retransmitter_ = &retransmitter;
  early_.connect(mac_rx, retransmitter);
  answers_.connect(mac_rx, retransmitter);
  completions_.connect(wqe_fetch, requester, retransmitter);
}

void Completer::receive(PacketRef packet, Time ready) {
  waiting_.push({std::move(packet), ready, false});
  most_waiting_ = std::max(most_waiting_, waiting_.size());
  look_ahead();
  if (waiting_.size() == 1 && !due_.packet) serve();
}

/// Has the contexts fetched that the next packets need.
void Completer::look_ahead() {
  for (; looked_ahead_ < std::min<std::size_t>(waiting_.size(), most_ahead_); ++looked_ahead_) {
    const std::uint32_t qpn = waiting_.at(looked_ahead_).packet->bth.dest_qp.value();
    if (w_.contexts.in_range(qpn)) w_.contexts.prefetch(qpn);
  }
}

void Completer::next_waiting() {
  waiting_.pop();
  if (looked_ahead_ != 0) --looked_ahead_;
  look_ahead();
}

void Completer::serve() {
  while (due_.packet || !waiting_.empty()) {
    Waiting& front = due_.packet ? due_ : waiting_.front();
    const Qpn qpn = front.packet->bth.dest_qp;
    bool keeps = false;
    if (!w_.contexts.in_range(qpn.value())) {
      ++unexpected_;
    } else {
      abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Completer::serve>(this));
      if (context == nullptr) {
        if (context_since_ == Time::never()) context_since_ = w_.scheduler.now();
        return;
      }
      if (context_since_ != Time::never())
        stalled_context_ += w_.scheduler.now() - std::exchange(context_since_, Time::never());
      if (!answers_.has_room()) {
        if (window_since_ == Time::never()) window_since_ = w_.scheduler.now();
        return;
      }
      if (!front.entered) {
        front.ready =
            pipeline_.enter(context_port_.enter(std::max(front.ready, w_.scheduler.now())));
        front.entered = true;
      }
      keeps =
          take(w_.qps.at(qpn), *context, front.packet, std::max(front.ready, w_.scheduler.now()));
    }
    if (!keeps) mac_rx_->release(*front.packet);
    if (&front == &due_)
      due_.packet.reset();
    else
      next_waiting();
    if (w_.selective && w_.contexts.in_range(qpn.value()))
      due_ = {early_.next(w_.qps.at(qpn)), w_.scheduler.now(), false};
  }
}

/// True: the packet still needs its place in the receive buffer.
bool Completer::take(NicQueuePair& qp, abi::QpContext& context, const PacketRef& packet,
                     Time ready) {
  const Opcode opcode = packet->bth.opcode;
  if (has_payload(opcode)) w_.congestion.taken(*packet, ready);
  const bool usable = sends(context.state) && context.transport == Transport::kRc &&
                      packet->bth.psn - context.next_send_psn < 0 &&
                      (!qp.outstanding.empty() || qp.started || qp.resumed);
  if (!usable) {
    ++unexpected_;
    return false;
  }
  if (w_.selective) {
    const auto order = early_.judge(qp, packet);
    if (order == EarlyAnswers::Order::kUseless) ++unexpected_;
    // What was sent before the answer that is missing has come, or nothing behind it would.
    if (order == EarlyAnswers::Order::kKept)
      acknowledge(qp, EarlyAnswers::first_missing(qp), ready);
    if (order != EarlyAnswers::Order::kDue) return order == EarlyAnswers::Order::kKept;
  }
  if (opcode == Opcode::kAcknowledge) {
    take_acknowledge(qp, context, *packet, ready);
    return false;
  }
  return answers_.take(qp, context, packet, ready);
}

void Completer::take_acknowledge(NicQueuePair& qp, abi::QpContext& context, const Packet& packet,
                                 Time ready) {
  const Aeth& aeth = packet.aeth;
  const Psn psn = packet.bth.psn;
  const Psn limit = aeth.is_ack() ? psn + 1 : psn;
  probe(ready, ProbeKind::kAckReceived, packet.work_request, packet.id, psn.value(), aeth.syndrome);
  ++(aeth.is_ack() ? acks_ : naks_);
  if (!w_.selective || !EarlyAnswers::names_missing(aeth)) {
    if (answers_.notice_loss(qp, context, limit, ready)) return;
    const bool is_news = limit - qp.acked > 0;
    w_.congestion.acknowledged(qp, limit, &packet, ready);
    acknowledge(qp, limit, ready);
    if (is_news && aeth.is_ack()) retransmitter_->recover(qp);
  }
  if (aeth.is_ack() || qp.failed) return;
  if (limit - qp.acked < 0 && !retransmitter_->restarts(qp, psn)) {
    ++unexpected_;  // what it complains of has been acknowledged since
  } else if (aeth.is_rnr_nak()) {
    retransmitter_->not_ready(qp, context, psn, aeth.value());
  } else if (aeth.nak_code() == NakCode::kPsnSequenceError) {
    retransmitter_->missing(qp, context, psn);
  } else {
    fail(qp, context, status_of(aeth.nak_code()), ready);
  }
}

void Completer::answers_have_room() {
  if (window_since_ == Time::never()) return;
  stalled_window_ += w_.scheduler.now() - std::exchange(window_since_, Time::never());
  serve();
}

void Completer::sent(NicQueuePair& qp, Psn psn, Time ready) {
  qp.acked = psn + 1;
  completions_.advance(qp, ready);
}

void Completer::acknowledge(NicQueuePair& qp, Psn limit, Time ready) {
  if (limit - qp.acked <= 0) return;
  qp.acked = limit;
  w_.congestion.acknowledged(qp, limit, nullptr, ready);
  completions_.advance(qp, ready);
  retransmitter_->progress(qp);
}

void Completer::message_failed(NicQueuePair& qp, WorkRequestId id, CompletionStatus status) {
  bool found = false;
  for (std::size_t i = 0; i < qp.outstanding.size() && !found; ++i) {
    if (qp.outstanding.at(i).id == id) {
      qp.outstanding.at(i).local_error = status;
      found = true;
    }
  }
  if (!found && qp.has_wqe_to_send() && qp.wqe(qp.sending).id == id) {
    const SendWqe& wqe = qp.wqe(qp.sending);
    OutstandingMessage message;
    message.first_psn = message.last_psn = qp.message_psn;
    message.wqe_index = wqe.block;
    message.opcode = wqe.opcode;
    message.local_error = status;
    message.id = wqe.id;
    qp.outstanding.push(message);
    ++qp.sending;
    qp.offset = 0;
    qp.started = false;
  }
  advance(qp);
}

void Completer::forget(NicQueuePair& qp) {
  retransmitter_->stop_timer(qp);
  early_.forget(qp);
  w_.congestion.forget(qp);
}

void Completer::cq_overrun(std::uint64_t cqn) {
  for (std::uint32_t qpn = 0; qpn < w_.qps.size(); ++qpn) {
    const NicQueuePair* qp = w_.qps.find(Qpn(qpn));
    if (qp != nullptr && qp->completes_at(Cqn(static_cast<std::uint32_t>(cqn))))
      fail_for_overrun(qpn);
  }
}

void Completer::fail_for_overrun(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  abi::QpContext* context =
      w_.contexts.lookup(index, call<&Completer::fail_for_overrun>(this, qpn));
  if (context == nullptr) return;
  if (context->state != QpState::kReset && context->state != QpState::kInit)
    enter_error(w_.qps.at(Qpn(index)), *context, CompletionStatus::kLocalQpOperationError);
}

void Completer::fail(NicQueuePair& qp, abi::QpContext& context, CompletionStatus status,
                     Time ready) {
  if (context.state == QpState::kErr || context.state == QpState::kSqe) return;
  qp.failure = status;
  if (context.transport == Transport::kRc) {
    enter_error(qp, context, status, ready);
    return;
  }
  // Of an unreliable service only the send queue stops (IBTA 10.3.1.6).
  stop_sending(qp, context, QpState::kSqe, status);
  completions_.advance(qp, ready);
}

void Completer::enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause,
                            Time ready) {
  if (context.state == QpState::kErr) return;
  stop_sending(qp, context, QpState::kErr, cause);
  w_.event_queue.async(abi::EventType::kQpError, qp.qpn.value());
  completions_.advance(qp, ready);
  responder_->flush_receives(qp);
}

/// Into an error state: what is on its way to the port or to memory becomes void.
void Completer::stop_sending(NicQueuePair& qp, abi::QpContext& context, QpState state,
                             CompletionStatus cause) {
  context.state = state;
  w_.contexts.mark_dirty(qp.qpn.value());
  qp.failed = true;
  qp.paused = qp.tells_drained = false;
  qp.send_cqn = context.send_cqn;
  qp.void_window();
  qp.void_repeats();
  ++qp.port_epoch;
  early_.forget(qp);
  retransmitter_->stop_timer(qp);
  probe(w_.scheduler.now(),
        state == QpState::kSqe ? ProbeKind::kSendQueueError : ProbeKind::kQpError, {}, 0,
        qp.qpn.value(), static_cast<std::uint64_t>(cause));
}

void Completer::signals(const SignalScope& scope) {
  pipeline_.signals(scope);
  scope.level("waiting", Unit::kCount, "responses that wait for their turn",
              [this] { return waiting_.size(); });
}

void Completer::report(const MetricScope& scope) const {
  answers_.report(scope);
  scope.count("lost_answers", answers_.lost() + early_.lost(),
              "READ responses or answers that did not come");
  completions_.report(scope);
  scope.count("acks", acks_, "acknowledgements received");
  scope.count("naks", naks_, "negative acknowledgements received");
  scope.count("unexpected", unexpected_ + answers_.unexpected(),
              "responses that answer nothing outstanding");
  scope.time("busy", pipeline_.busy(), "time the completer's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "responses waited for the pipeline");
  scope.time("stalled.fault", pipeline_.blocked(), "time that an injected stall held up responses");
  scope.time("stalled.context", stalled_context_,
             "time in which a response waited for its context");
  scope.time("stalled.window", stalled_window_,
             "time in which responses waited for READ data to be written");
  scope.count("occupancy.max", most_waiting_, "most responses waiting");
}

}  // namespace rnicsim
