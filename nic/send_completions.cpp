// SPDX-License-Identifier: MIT
#include "nic/send_completions.h"

#include <utility>

#include "nic/completer.h"
#include "nic/requester.h"
#include "nic/retransmitter.h"
#include "nic/wqe_fetch.h"

namespace rnicsim {

namespace {

/// Data of a READ or atomic are on their way to host memory: it does not complete before.
bool is_scattering(NicQueuePair& qp, const OutstandingMessage& message) {
  if (!message.has_answer()) return false;
  const OutstandingRead* read = qp.find_read(message.id);
  return read != nullptr && read->scattering != 0;
}

}  // namespace

/// True: there is no room for another completion; go_on() runs when there is.
bool SendCompletions::wait_for_writer() {
  if (w_.cqe_writer.has_room()) return false;
  if (writer_since_ == Time::never()) writer_since_ = w_.scheduler.now();
  return true;
}

void SendCompletions::go_on() {
  if (writer_since_ != Time::never())
    stalled_writer_ += w_.scheduler.now() - std::exchange(writer_since_, Time::never());
  while (!completing_.empty() && complete_some(*completing_.front(), w_.scheduler.now()))
    completing_.take()->completing = false;
}

void SendCompletions::advance(NicQueuePair& qp, Time ready) {
  if (qp.completing) return;
  if (completing_.empty() && complete_some(qp, ready)) return;
  if (qp.completing) return;  // it failed meanwhile, and waits already
  qp.completing = true;
  completing_.push(&qp);
  if (completing_.size() == 1) return;
  go_on();
}

/// Completes the queue pair's messages as far as they are done, or all of them if it is in error.
/// False: the CQE writer has no room.
bool SendCompletions::complete_some(NicQueuePair& qp, Time ready) {
  bool answered = false;
  while (!qp.outstanding.empty()) {
    const OutstandingMessage& front = qp.outstanding.front();
    const bool done = front.has_answer() ? !qp.reads.empty() && qp.reads.front().id == front.id &&
                                               qp.reads.front().done()
                                         : front.last_psn - qp.acked < 0;
    CompletionStatus status = CompletionStatus::kSuccess;
    if (front.local_error != CompletionStatus::kSuccess && !qp.failed) {
      fail_oldest(qp.qpn.value());
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
bool SendCompletions::flush_unsent(NicQueuePair& qp, Time ready) {
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

void SendCompletions::check_drained(NicQueuePair& qp) {
  if (!qp.tells_drained || !qp.is_drained()) return;
  qp.tells_drained = false;
  w_.cqe_writer.tell_drained(qp.qpn);
}

/// The oldest message failed at home: the queue pair goes to error with its status.
void SendCompletions::fail_oldest(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  abi::QpContext* context =
      w_.contexts.lookup(index, call<&SendCompletions::fail_oldest>(this, qpn));
  if (context == nullptr) return;
  NicQueuePair& qp = w_.qps.at(Qpn(index));
  if (qp.outstanding.empty() || qp.failed) return;
  const CompletionStatus status = qp.outstanding.front().local_error;
  if (status != CompletionStatus::kSuccess)
    w_.completer.fail(qp, *context, status, w_.scheduler.now());
}

void SendCompletions::complete(const NicQueuePair& qp, const OutstandingMessage& message,
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

void SendCompletions::report(const MetricScope& scope) const {
  scope.count("completed", completed_, "work requests completed with success");
  scope.count("req_cqe_error", failed_, "work requests that failed");
  scope.count("req_cqe_flush_error", flushed_, "work requests flushed");
  scope.time("stalled.cqe_writer", stalled_writer_,
             "time in which completions waited for the CQE writer");
}

}  // namespace rnicsim
