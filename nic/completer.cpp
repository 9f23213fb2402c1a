// SPDX-License-Identifier: MIT
#include "nic/completer.h"

#include <algorithm>
#include <utility>

#include "model/byte_order.h"
#include "nic/requester.h"
#include "nic/responder.h"
#include "nic/retransmitter.h"
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

}  // namespace

void CompleterConfig::describe(Fields& fields) {
  pipeline.describe(fields);
  fields.field("window", window, range(1, 1024),
               "READ responses that translate and write to host memory at once");
}

Completer::Completer(const Wiring& wiring, const CompleterConfig& config)
    : w_(wiring),
      config_(config),
      context_port_(wiring.contexts.add_port(wiring.clock)),
      pipeline_(wiring.clock, config.pipeline),
      dma_({wiring.scheduler, wiring.clock, wiring.pcie, wiring.key_checker, wiring.elided},
           DmaEngine::Direction::kScatter, *this) {}

void Completer::receive(PacketRef packet, Time ready) {
  waiting_.push({std::move(packet), ready, false});
  most_waiting_ = std::max(most_waiting_, waiting_.size());
  if (waiting_.size() == 1) serve();
}

void Completer::serve() {
  while (!waiting_.empty()) {
    Waiting& front = waiting_.front();
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
      if (dma_.size() >= config_.window) {
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
    if (!keeps) mac_rx_->release(*waiting_.front().packet);
    waiting_.pop();
  }
}

/// True: the packet still needs its place in the receive buffer.
bool Completer::take(NicQueuePair& qp, abi::QpContext& context, const PacketRef& packet,
                     Time ready) {
  const Opcode opcode = packet->bth.opcode;
  const bool usable = sends(context.state) && context.transport == Transport::kRc &&
                      packet->bth.psn - context.next_send_psn < 0 &&
                      (!qp.outstanding.empty() || qp.started);
  if (!usable) {
    ++unexpected_;
    return false;
  }
  if (opcode == Opcode::kAcknowledge) {
    take_acknowledge(qp, context, *packet, ready);
    return false;
  }
  const std::uint64_t before = dma_.next();
  take_answer(qp, context, packet, ready);
  return dma_.next() != before;
}

void Completer::take_acknowledge(NicQueuePair& qp, abi::QpContext& context, const Packet& packet,
                                 Time ready) {
  const Aeth& aeth = packet.aeth;
  const Psn psn = packet.bth.psn;
  const Psn limit = aeth.is_ack() ? psn + 1 : psn;
  probe(ready, ProbeKind::kAckReceived, packet.work_request, packet.id, psn.value(), aeth.syndrome);
  ++(aeth.is_ack() ? acks_ : naks_);
  if (answer_lost(qp, context, limit, ready)) return;
  acknowledge(qp, limit, ready);
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

/// An answer that belongs before `limit` has not come, and, as answers keep their order, will not:
/// it is asked for again, once, as those on their way tell no more; then the timeout has to help.
bool Completer::answer_lost(NicQueuePair& qp, abi::QpContext& context, Psn limit, Time ready) {
  for (std::size_t i = 0; i < qp.reads.size(); ++i) {
    OutstandingRead& read = qp.reads.at(i);
    if (read.answered) continue;
    if (read.next_psn - limit >= 0) return false;
    if (std::exchange(read.asked_again, true)) {
      ++unexpected_;  // it was on its way when the other was asked for again
      return true;
    }
    ++lost_answers_;
    const Psn missing = read.next_psn;
    acknowledge(qp, missing, ready);
    retransmitter_->missing(qp, context, missing);
    return true;
  }
  return false;
}

/// A READ response or the answer to an atomic.
void Completer::take_answer(NicQueuePair& qp, abi::QpContext& context, const PacketRef& packet,
                            Time ready) {
  const Psn psn = packet->bth.psn;
  if (answer_lost(qp, context, psn, ready)) return;
  std::size_t at = 0;
  while (at < qp.reads.size() && qp.reads.at(at).answered) ++at;
  if (at == qp.reads.size() || qp.reads.at(at).next_psn != psn) {
    ++unexpected_;  // it has come before
    return;
  }
  OutstandingRead& read = qp.reads.at(at);
  if (!fits(read, context, *packet)) {
    acknowledge(qp, psn, ready);
    fail(qp, context, CompletionStatus::kBadResponse, ready);
    return;
  }
  probe(ready, ProbeKind::kAnswerReceived, read.id, packet->id, psn.value(),
        packet->payload_length.count());
  ++answers_;
  const auto bytes = static_cast<std::uint32_t>(read.atomic ? sizeof(std::uint64_t)
                                                            : packet->payload_length.count());
  answered_ += Bytes(bytes);
  ++read.next_psn;
  read.asked_again = false;
  read.answered = read.next_psn - read.last_psn > 0;
  if (bytes != 0) scatter(qp, context, packet, read, bytes, ready);
  acknowledge(qp, psn + 1, ready);
}

/// Opcode and length are what comes next (IBTA 9.7.5.2.2). First is not told from middle nor only
/// from last: a response may still be to the request that was made before a READ was asked again.
bool Completer::fits(const OutstandingRead& read, const abi::QpContext& context,
                     const Packet& packet) const {
  const Opcode opcode = packet.bth.opcode;
  if (read.atomic) return opcode == Opcode::kAtomicAcknowledge;
  if (!is_read_response(opcode)) return false;
  const bool last = read.next_psn == read.last_psn;
  const std::uint64_t length = packet.payload_length.count();
  const std::uint64_t left = read.length - read.received;
  if (ends_message(opcode) != last) return false;
  return last ? length == left : length == context.path_mtu() && length < left;
}

void Completer::scatter(NicQueuePair& qp, const abi::QpContext& context, const PacketRef& packet,
                        OutstandingRead& read, std::uint32_t bytes, Time ready) {
  DmaEngine::Job job;
  job.packet = packet;
  job.qp = &qp;
  job.epoch = Epoch(qp.scatter_epoch);
  job.bytes = bytes;
  job.prefix = read.atomic ? bytes : 0;
  job.offset = read.received;
  job.id = read.id;
  job.ready = ready;
  job.check.pd = context.pd;
  ++read.scattering;
  read.received += bytes;
  dma_.add(std::move(job));
}

OutstandingRead* Completer::find_read(NicQueuePair& qp, WorkRequestId id) {
  for (std::size_t i = 0; i < qp.reads.size(); ++i)
    if (qp.reads.at(i).id == id) return &qp.reads.at(i);
  return nullptr;
}

void Completer::begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) {
  const OutstandingRead& read = *find_read(*job.qp, job.id);
  DmaEngine::aim(check, read.segments.data(), job.offset + moved, job.bytes - moved);
  check.needs = AccessFlags::kLocalWrite;
}

/// The requester's own memory may not be written: the READ fails at home.
void Completer::refused(std::uint64_t, DmaEngine::Job& job, KeyFault) {
  job.failed = CompletionStatus::kLocalProtectionError;
}

void Completer::part(const DmaEngine::Job& job, std::uint32_t, const KeyCheck& check) {
  probe(w_.scheduler.now(), ProbeKind::kPayloadWriteStart, job.id, job.packet->id,
        check.address.value(), check.length);
}

/// The original value, as an x86 application reads it.
void Completer::prefix(const DmaEngine::Job& job, std::uint8_t* to) {
  for (unsigned i = 0; i < 8; ++i)
    to[i] = static_cast<std::uint8_t>(job.packet->atomic_ack.original >> (8 * i));
}

bool Completer::leave(std::uint64_t, DmaEngine::Job& job) {
  mac_rx_->release(*job.packet);
  if (job.is_void()) return true;
  NicQueuePair& qp = *job.qp;
  OutstandingRead* read = find_read(qp, job.id);
  if (read == nullptr) return true;
  --read->scattering;
  if (job.failed == CompletionStatus::kSuccess) {
    if (read->done() || (qp.failed && read->scattering == 0)) advance(qp, w_.scheduler.now());
  } else {
    read->local_error = job.failed;  // should it be about to be sent again
    message_failed(qp, job.id, job.failed);
  }
  return true;
}

void Completer::left() {
  if (window_since_ == Time::never()) return;
  stalled_window_ += w_.scheduler.now() - std::exchange(window_since_, Time::never());
  serve();
}

void Completer::sent(NicQueuePair& qp, Psn psn, Time ready) {
  qp.acked = psn + 1;
  advance(qp, ready);
}

/// Everything before `limit` has been acknowledged.
void Completer::acknowledge(NicQueuePair& qp, Psn limit, Time ready) {
  if (limit - qp.acked <= 0) return;
  qp.acked = limit;
  advance(qp, ready);
  retransmitter_->progress(qp);
}

/// True: there is no room for another completion; go_on() runs when there is.
bool Completer::wait_for_writer() {
  if (w_.cqe_writer.has_room()) return false;
  if (writer_since_ == Time::never()) writer_since_ = w_.scheduler.now();
  return true;
}

void Completer::go_on() {
  if (writer_since_ != Time::never())
    stalled_writer_ += w_.scheduler.now() - std::exchange(writer_since_, Time::never());
  while (!completing_.empty() && complete_some(*completing_.front(), w_.scheduler.now()))
    completing_.take()->completing = false;
}

void Completer::advance(NicQueuePair& qp, Time ready) {
  if (qp.completing) return;
  if (completing_.empty() && complete_some(qp, ready)) return;
  if (qp.completing) return;  // it failed meanwhile, and waits already
  qp.completing = true;
  completing_.push(&qp);
  if (completing_.size() == 1) return;
  go_on();
}

/// Data of a READ or atomic are on their way to host memory: it does not complete before.
bool Completer::is_scattering(NicQueuePair& qp, const OutstandingMessage& message) {
  if (!message.has_answer()) return false;
  const OutstandingRead* read = find_read(qp, message.id);
  return read != nullptr && read->scattering != 0;
}

/// Completes the queue pair's messages as far as they are done, or all of them if it is in error.
/// False: the CQE writer has no room.
bool Completer::complete_some(NicQueuePair& qp, Time ready) {
  bool answered = false;
  while (!qp.outstanding.empty()) {
    const OutstandingMessage& front = qp.outstanding.front();
    const bool done = front.has_answer() ? !qp.reads.empty() && qp.reads.front().id == front.id &&
                                               qp.reads.front().done()
                                         : front.last_psn - qp.acked < 0;
    CompletionStatus status = CompletionStatus::kSuccess;
    if (front.local_error != CompletionStatus::kSuccess && !qp.failed) {
      retry_failed(qp.qpn.value());
      if (!qp.failed) break;
      continue;
    }
    if (!done && (!qp.failed || is_scattering(qp, front))) break;
    // Behind a message that failed at home others may have been acknowledged: flushed all the same.
    if (!done || front.local_error != CompletionStatus::kSuccess || qp.flushing)
      status = std::exchange(qp.failure, CompletionStatus::kFlushed);
    if (status != CompletionStatus::kSuccess || front.signaled) {
      if (wait_for_writer()) {
        if (status != CompletionStatus::kSuccess) qp.failure = status;
        if (answered) requester_->ready(qp);
        return false;
      }
      complete(qp, front, status, ready);
    }
    if (front.has_answer() && !qp.reads.empty() && qp.reads.front().id == front.id) {
      qp.reads.pop();
      answered = true;
    }
    if (status == CompletionStatus::kSuccess)
      ++completed_;
    else
      qp.flushing = true;
    qp.ended = front.id.index() + 1;
    qp.outstanding.pop();
  }
  check_drained(qp);
  if (qp.outstanding.empty() && !qp.started) retransmitter_->stop_timer(qp);
  if (qp.failed) return !qp.outstanding.empty() || flush_unsent(qp, ready);
  if (answered) requester_->ready(qp);
  return true;
}

/// What has been fetched and not sent: the message being sent fails, the others are flushed.
bool Completer::flush_unsent(NicQueuePair& qp, Time ready) {
  while (qp.has_wqe_to_send()) {
    if (wait_for_writer()) return false;
    const SendWqe& wqe = qp.wqe(qp.sending);
    OutstandingMessage message;
    message.wqe_index = wqe.block;
    message.opcode = wqe.opcode;
    message.id = wqe.id;
    complete(qp, message, std::exchange(qp.failure, CompletionStatus::kFlushed), ready);
    qp.ended = wqe.id.index() + 1;
    ++qp.sending;
  }
  qp.offset = 0;
  qp.started = qp.resumed = false;
  qp.retire_wqes();
  wqe_fetch_->resume(qp.qpn);
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
  advance(qp, w_.scheduler.now());
}

/// The oldest message failed at home: the queue pair goes to error with its status.
void Completer::retry_failed(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  abi::QpContext* context = w_.contexts.lookup(index, call<&Completer::retry_failed>(this, qpn));
  if (context == nullptr) return;
  NicQueuePair& qp = w_.qps.at(Qpn(index));
  if (qp.outstanding.empty() || qp.failed) return;
  const CompletionStatus status = qp.outstanding.front().local_error;
  if (status != CompletionStatus::kSuccess) fail(qp, *context, status, w_.scheduler.now());
}

void Completer::check_drained(NicQueuePair& qp) {
  if (!qp.tells_drained || !qp.is_drained()) return;
  qp.tells_drained = false;
  w_.cqe_writer.tell_drained(qp.qpn);
}

void Completer::forget(NicQueuePair& qp) { retransmitter_->stop_timer(qp); }

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
  advance(qp, ready);
}

void Completer::enter_error(NicQueuePair& qp, abi::QpContext& context, CompletionStatus cause,
                            Time ready) {
  if (context.state == QpState::kErr) return;
  stop_sending(qp, context, QpState::kErr, cause);
  w_.event_queue.async(abi::EventType::kQpError, qp.qpn.value());
  advance(qp, ready);
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
  ++qp.port_epoch;
  retransmitter_->stop_timer(qp);
  probe(w_.scheduler.now(),
        state == QpState::kSqe ? ProbeKind::kSendQueueError : ProbeKind::kQpError, {}, 0,
        qp.qpn.value(), static_cast<std::uint64_t>(cause));
}

void Completer::complete(const NicQueuePair& qp, const OutstandingMessage& message,
                         CompletionStatus status, Time ready) {
  abi::Cqe cqe;
  cqe.opcode = status == CompletionStatus::kSuccess ? abi::CqeOpcode::kRequest
                                                    : abi::CqeOpcode::kRequestError;
  cqe.status = status;
  cqe.qpn = qp.qpn;
  cqe.wqe_counter = message.wqe_index;
  cqe.byte_count = message.bytes;
  if (status == CompletionStatus::kFlushed)
    ++flushed_;
  else if (status != CompletionStatus::kSuccess)
    ++failed_;
  w_.cqe_writer.write(qp.send_cqn, cqe, message.id, ready);
}

void Completer::report(const MetricScope& scope) const {
  scope.count("acks", acks_, "acknowledgements received");
  scope.count("naks", naks_, "negative acknowledgements received");
  scope.count("answers", answers_, "READ responses and answers to atomics taken");
  scope.bytes("payload_bytes", answered_, "bytes of them, written to host memory");
  scope.count("lost_answers", lost_answers_, "READ responses or answers that did not come");
  scope.count("unexpected", unexpected_, "responses that answer nothing outstanding");
  scope.count("completed", completed_, "work requests completed with success");
  scope.count("req_cqe_error", failed_, "work requests that failed");
  scope.count("req_cqe_flush_error", flushed_, "work requests flushed");
  scope.time("busy", pipeline_.busy(), "time the completer's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "responses waited for the pipeline");
  scope.time("stalled.fault", pipeline_.blocked(), "time that an injected stall held up responses");
  scope.time("stalled.context", stalled_context_,
             "time in which a response waited for its context");
  scope.time("stalled.window", stalled_window_,
             "time in which responses waited for READ data to be written");
  scope.time("stalled.cqe_writer", stalled_writer_,
             "time in which completions waited for the CQE writer");
  scope.count("occupancy.max", most_waiting_, "most responses waiting");
}

}  // namespace rnicsim
