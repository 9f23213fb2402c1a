// SPDX-License-Identifier: MIT
#include "nic/retransmitter.h"

#include <algorithm>

#include "nic/completer.h"
#include "nic/repeater.h"
#include "nic/requester.h"
#include "nic/wqe_fetch.h"

namespace rnicsim {

namespace {

constexpr std::uint8_t kInfiniteRnrRetries = 7;
/// In hundredths of a millisecond, by code (IBTA table 46).
constexpr std::array<std::uint32_t, 32> kRnrTimers = {
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

}  // namespace

Time rnr_timer(std::uint8_t code) { return Time::us(10) * kRnrTimers[code & 31]; }

Time ack_timeout(std::uint8_t code) {
  return code == 0 ? Time::never() : Time::ns(4096) * (std::int64_t{1} << (code & 31));
}

void Retransmitter::progress(NicQueuePair& qp) {
  qp.retries = qp.rnr_retries = 0;
  if (qp.outstanding.empty() && !qp.started)
    stop_timer(qp);
  else if (qp.deadline != Time::never())
    start_timer(qp);
}

void Retransmitter::stop_timer(NicQueuePair& qp) {
  if (qp.deadline == Time::never()) return;
  qp.deadline = Time::never();
  scheduler_.release();
}

void Retransmitter::start_timer(NicQueuePair& qp) {
  if (qp.deadline == Time::never()) scheduler_.hold();
  qp.deadline = scheduler_.now() + qp.timeout;
  arm(qp);
}

void Retransmitter::arm(NicQueuePair& qp) {
  if (qp.timer_armed) return;
  qp.timer_armed = true;
  scheduler_.at_daemon(qp.deadline, call<&Retransmitter::expired>(this, qp.qpn.value()));
}

void Retransmitter::expired(std::uint64_t qpn) {
  NicQueuePair& qp = qps_.at(Qpn(static_cast<std::uint32_t>(qpn)));
  qp.timer_armed = false;
  if (qp.deadline == Time::never()) return;
  if (scheduler_.now() < qp.deadline) {
    arm(qp);
    return;
  }
  stop_timer(qp);
  timed_out(qpn);
}

void Retransmitter::timed_out(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  NicQueuePair& qp = qps_.at(Qpn(index));
  abi::QpContext* context = contexts_.lookup(index, call<&Retransmitter::timed_out>(this, qpn));
  if (context == nullptr) return;
  if (!sends(context->state) || (qp.outstanding.empty() && !qp.started)) return;
  ++timeouts_;
  const Psn psn = oldest(qp);
  if (config_.is_selective() && psn - context->next_send_psn >= 0) {
    start_timer(qp);  // its packet has yet to be made
    return;
  }
  for (std::size_t i = 0; i < qp.reads.size(); ++i) qp.reads.at(i).asked_again = false;
  probe(scheduler_.now(), ProbeKind::kTimeout, {}, 0, index, psn.value());
  if (!config_.is_selective()) {
    again(qp, *context, psn);
  } else if (!exhausted(qp, *context)) {
    qp.recovering = true;
    qp.recover_until = context->next_send_psn;
    start_timer(qp);
    repeat_oldest(qp);
  }
}

/// First PSN that is neither acknowledged nor answered. REQUIRES: there is one.
Psn Retransmitter::oldest(NicQueuePair& qp) {
  for (std::size_t i = 0; i < qp.reads.size(); ++i) {
    const OutstandingRead& read = qp.reads.at(i);
    if (!read.answered) return read.next_psn - qp.acked < 0 ? read.next_psn : qp.acked;
  }
  return qp.acked;
}

void Retransmitter::missing(NicQueuePair& qp, abi::QpContext& context, Psn psn) {
  ++sequence_naks_;
  if (config_.is_selective())
    repeat_request(qp, psn);
  else
    again(qp, context, psn);
}

void Retransmitter::answers_missing(NicQueuePair& qp, const Hole& hole) {
  ++sequence_naks_;
  repeat(qp, hole.first, hole.count);
}

void Retransmitter::repeat(NicQueuePair& qp, Psn psn, std::uint32_t count) {
  if (!repeater_->want(qp, psn, count)) return;
  congestion_.lost(qp);
  packets_again_ += count;
  probe(scheduler_.now(), ProbeKind::kSentAgain, {}, 0, psn.value(), count);
}

/// The responder has not got the request packet `psn`. Of PSNs that stand for responses to a READ
/// there is none, and the READ's own has been named before them.
void Retransmitter::repeat_request(NicQueuePair& qp, Psn psn) {
  OutstandingMessage message;
  if (!qp.find_message(psn, message)) return;
  if (!message.has_answer())
    repeat(qp, psn, 1);
  else if (psn == message.first_psn)
    repeat(qp, psn, static_cast<std::uint32_t>(message.last_psn - psn) + 1);
}

/// The oldest packet that is not acknowledged; of a READ all that is missing up to the first
/// response that is here.
void Retransmitter::repeat_oldest(NicQueuePair& qp) {
  const Psn psn = oldest(qp);
  for (std::size_t i = 0; i < qp.reads.size(); ++i) {
    const OutstandingRead& read = qp.reads.at(i);
    if (read.answered || read.next_psn != psn) continue;
    repeat(qp, psn, ReorderBuffer::missing_run(qp.early_answers, psn, read.last_psn + 1));
    return;
  }
  repeat(qp, psn, 1);
}

void Retransmitter::recover(NicQueuePair& qp) {
  if (!qp.recovering) return;
  const Psn psn = oldest(qp);
  qp.recovering = qp.recover_until - psn > 0;
  if (qp.recovering) repeat_oldest(qp);
}

bool Retransmitter::restarts(NicQueuePair& qp, Psn psn) const {
  if (config_.mode != Retransmission::kGoBack0) return false;
  if (!qp.outstanding.empty()) return qp.outstanding.front().first_psn == psn;
  return (qp.started || qp.resumed) && qp.message_psn == psn;
}

void Retransmitter::again(NicQueuePair& qp, abi::QpContext& context, Psn psn) {
  if (!exhausted(qp, context)) go_back(qp, context, psn);
}

/// Counts a retry. True: it was one too many, and the queue pair has failed.
bool Retransmitter::exhausted(NicQueuePair& qp, abi::QpContext& context) {
  if (++qp.retries <= context.retry_count) return false;
  ++exhausted_;
  completer_->fail(qp, context, CompletionStatus::kRetryExceeded, scheduler_.now());
  return true;
}

void Retransmitter::not_ready(NicQueuePair& qp, abi::QpContext& context, Psn psn,
                              std::uint8_t timer) {
  ++rnr_naks_;
  if (context.rnr_retry != kInfiniteRnrRetries && ++qp.rnr_retries > context.rnr_retry) {
    ++exhausted_;
    completer_->fail(qp, context, CompletionStatus::kRnrRetryExceeded, scheduler_.now());
    return;
  }
  qp.recovering = false;
  stop_timer(qp);  // it runs again when something has been sent again
  qp.paused = true;
  go_back(qp, context, psn);
  scheduler_.at(scheduler_.now() + rnr_timer(timer),
                call<&Retransmitter::ready_again>(
                    this, std::uint64_t{qp.timer_generation} << 32 | qp.qpn.value()));
}

void Retransmitter::ready_again(std::uint64_t argument) {
  NicQueuePair& qp = qps_.at(Qpn(static_cast<std::uint32_t>(argument)));
  if (qp.timer_generation != argument >> 32) return;  // reset meanwhile
  qp.paused = false;
  requester_->ready(qp);
}

/// Finds the message that holds `psn` and forgets it and those behind it. False: there is none.
bool Retransmitter::forget_from(NicQueuePair& qp, Psn psn, OutstandingMessage& message) {
  std::size_t kept = 0;
  while (kept < qp.outstanding.size() && qp.outstanding.at(kept).last_psn - psn < 0) ++kept;
  if (kept < qp.outstanding.size()) {
    message = qp.outstanding.at(kept);
    if (message.local_error != CompletionStatus::kSuccess) return false;
    qp.outstanding.truncate(kept);
    return true;
  }
  return qp.partly_sent(message);
}

void Retransmitter::go_back(NicQueuePair& qp, abi::QpContext& context, Psn psn) {
  OutstandingMessage message;
  const Psn end = context.next_send_psn;
  if (!forget_from(qp, psn, message)) return;
  if (config_.mode == Retransmission::kGoBack0) psn = message.first_psn;
  packets_again_ += static_cast<std::uint32_t>(end - psn);
  ++qp.port_epoch;
  congestion_.went_back(qp);
  put_back(qp, context, psn, message);
  probe(scheduler_.now(), ProbeKind::kGoBack, message.id, 0, psn.value(),
        static_cast<std::uint64_t>(end - psn));
  wqe_fetch_->resume(qp.qpn);
}

/// Packets before `psn` may still be on their way to the port: they are sent.
void Retransmitter::page_missing(NicQueuePair& qp, abi::QpContext& context, Psn psn,
                                 Bytes taken_back) {
  OutstandingMessage message;
  if (!forget_from(qp, psn, message)) return;
  if (qp.outstanding.empty()) stop_timer(qp);
  congestion_.took_back(qp, psn, taken_back);
  if (qp.recovering && psn - qp.recover_until < 0) qp.recover_until = psn;
  put_back(qp, context, psn, message);
  wqe_fetch_->resume(qp.qpn);
}

void Retransmitter::page_is_here(std::uint64_t qpn) {
  NicQueuePair& qp = qps_.at(Qpn(static_cast<std::uint32_t>(qpn)));
  qp.waits_for_page = false;
  requester_->ready(qp);
}

/// Nothing has been cut from `psn` of `message` on.
void Retransmitter::put_back(NicQueuePair& qp, abi::QpContext& context, Psn psn,
                             const OutstandingMessage& message) {
  std::size_t reads = 0;
  while (reads < qp.reads.size() && qp.reads.at(reads).last_psn - psn < 0) ++reads;
  std::uint64_t offset = static_cast<std::uint64_t>(psn - message.first_psn) * context.path_mtu();
  if (reads < qp.reads.size() && qp.reads.at(reads).id == message.id) {
    OutstandingRead& read = qp.reads.at(reads++);  // stays, with what has come of it
    if (psn != read.next_psn) read.received = 0;
    offset = read.atomic ? 0 : read.received;
  }
  qp.reads.truncate(reads);
  if (psn - qp.acked < 0) qp.acked = psn;
  qp.void_window();
  qp.refetch_from(message.wqe_index);
  qp.started = false;
  qp.send_stopped = false;  // what failed at home is met again
  qp.resumed = true;
  qp.resumed_message = message;
  qp.resumed_at = psn;
  qp.offset = offset;
  qp.message_psn = message.first_psn;
  context.send_consumer = message.wqe_index;
  context.work_requests = message.id.index();
  context.next_send_psn = psn;
  contexts_.mark_dirty(qp.qpn.value());
}

void RetransmitterConfig::describe(Fields& fields) {
  fields.choice("mode", mode,
                {{"go_back_n", Retransmission::kGoBackN},
                 {"go_back_0", Retransmission::kGoBack0},
                 {"selective_repeat", Retransmission::kSelectiveRepeat}},
                "what is sent again: from the missing packet on, the whole message, or the missing "
                "packet alone, which both ends must agree on");
}

void Retransmitter::report(const MetricScope& scope) const {
  scope.count("local_ack_timeout_err", timeouts_, "acknowledgements that did not come in time");
  scope.count("packet_seq_err", sequence_naks_, "times that something missing was sent again");
  scope.count("rnr_nak_retry_err", rnr_naks_, "RNR NAKs received");
  scope.count("retries_exhausted", exhausted_, "queue pairs that failed after their last retry");
  scope.count("packets_again", packets_again_, "PSNs sent again");
}

}  // namespace rnicsim
