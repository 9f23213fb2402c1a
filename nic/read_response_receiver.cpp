// SPDX-License-Identifier: MIT
#include "nic/read_response_receiver.h"

#include <utility>

#include "nic/completer.h"
#include "nic/retransmitter.h"

namespace rnicsim {

ReadResponseReceiver::ReadResponseReceiver(const Wiring& wiring, std::uint32_t window)
    : w_(wiring),
      window_(window),
      dma_({wiring.scheduler, wiring.clock, wiring.pcie, wiring.key_checker, wiring.elided},
           DmaEngine::Direction::kScatter, *this) {}

bool ReadResponseReceiver::take(NicQueuePair& qp, abi::QpContext& context, const PacketRef& packet,
                                Time ready) {
  const Psn psn = packet->bth.psn;
  if (notice_loss(qp, context, psn, ready)) return false;
  std::size_t at = 0;
  while (at < qp.reads.size() && qp.reads.at(at).answered) ++at;
  if (at == qp.reads.size() || qp.reads.at(at).next_psn != psn) {
    ++unexpected_;  // it has come before
    return false;
  }
  OutstandingRead& read = qp.reads.at(at);
  if (!fits(read, context, *packet)) {
    w_.completer.acknowledge(qp, psn, ready);
    w_.completer.fail(qp, context, CompletionStatus::kBadResponse, ready);
    return false;
  }
  w_.probe(ready, ProbeKind::kAnswerReceived, read.id, packet->id, psn.value(),
           packet->payload_length.count());
  ++answers_;
  const auto bytes = static_cast<std::uint32_t>(read.atomic ? sizeof(std::uint64_t)
                                                            : packet->payload_length.count());
  ++read.next_psn;
  read.asked_again = false;
  const bool ended = read.next_psn - read.last_psn > 0;
  read.answered = ended;
  if (bytes != 0) scatter(qp, context, packet, read, bytes, ready);
  w_.completer.acknowledge(qp, psn + 1, ready);
  if (ended) retransmitter_->recover(qp);
  return bytes != 0;
}

/// An answer that belongs before `limit` has not come, and, as answers keep their order, will not:
/// it is asked for again, once, as those on their way tell no more; then the timeout has to help.
bool ReadResponseReceiver::notice_loss(NicQueuePair& qp, abi::QpContext& context, Psn limit,
                                       Time ready) {
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
    w_.completer.acknowledge(qp, missing, ready);
    retransmitter_->missing(qp, context, missing);
    return true;
  }
  return false;
}

/// Opcode and length are what comes next (IBTA 9.7.5.2.2). First is not told from middle nor only
/// from last: a response may still be to the request that was made before a READ was asked again.
/// With selective repeat any may be the last to a request for a part of it.
bool ReadResponseReceiver::fits(const OutstandingRead& read, const abi::QpContext& context,
                                const Packet& packet) const {
  const Opcode opcode = packet.bth.opcode;
  if (read.atomic) return opcode == Opcode::kAtomicAcknowledge;
  if (!is_read_response(opcode)) return false;
  const bool last = read.next_psn == read.last_psn;
  const std::uint64_t length = packet.payload_length.count();
  const std::uint64_t left = read.length - read.received;
  if (ends_message(opcode) != last && (last || !w_.selective)) return false;
  return last ? length == left : length == context.path_mtu() && length < left;
}

void ReadResponseReceiver::scatter(NicQueuePair& qp, const abi::QpContext& context,
                                   const PacketRef& packet, OutstandingRead& read,
                                   std::uint32_t bytes, Time ready) {
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

void ReadResponseReceiver::begin_part(const DmaEngine::Job& job, std::uint32_t moved,
                                      KeyCheck& check) {
  const OutstandingRead& read = *job.qp->find_read(job.id);
  DmaEngine::aim(check, read.segments.data(), job.offset + moved, job.bytes - moved);
  check.needs = AccessFlags::kLocalWrite;
}

/// The requester's own memory may not be written: the READ fails at home.
void ReadResponseReceiver::refused(std::uint64_t, DmaEngine::Job& job, KeyFault) {
  job.failed = CompletionStatus::kLocalProtectionError;
}

bool ReadResponseReceiver::take_back(DmaEngine::Job& job) {
  // Of a queue pair in error what has come is still written, and nothing is asked for again.
  if (w_.selective || job.qp->failed) return false;
  if (!std::exchange(job.qp->waits_for_page, true))
    w_.key_checker.wait_for_page(
        job.check, job.check.behind(),
        call<&Retransmitter::page_is_here>(retransmitter_, job.qp->qpn.value()));
  return true;
}

void ReadResponseReceiver::part(const DmaEngine::Job& job, std::uint32_t, const KeyCheck& check) {
  answered_ += Bytes(check.length);
  if (check.missed)
    w_.probe(w_.scheduler.now(), ProbeKind::kTranslationMissed, job.id, job.packet->id,
             static_cast<std::uint64_t>(job.ready.ps()), check.length);
  w_.probe(w_.scheduler.now(), ProbeKind::kPayloadWriteStart, job.id, job.packet->id,
           check.address.value(), check.length);
}

/// The original value, as an x86 application reads it.
void ReadResponseReceiver::prefix(const DmaEngine::Job& job, std::uint8_t* to) {
  for (unsigned i = 0; i < 8; ++i)
    to[i] = static_cast<std::uint8_t>(job.packet->atomic_ack.original >> (8 * i));
}

/// The READ is as it was before this answer came. Those that are on their way are not it.
bool ReadResponseReceiver::leave_for_page(DmaEngine::Job& job) {
  NicQueuePair& qp = *job.qp;
  OutstandingRead* read = qp.find_read(job.id);
  if (read == nullptr) return true;
  if (qp.failed || read->local_error != CompletionStatus::kSuccess) {  // since it was taken back
    --read->scattering;
    w_.completer.message_failed(qp, job.id, CompletionStatus::kFlushed);
    return true;
  }
  abi::QpContext* context =
      w_.contexts.lookup(qp.qpn.value(), call<&ReadResponseReceiver::drain>(this));
  if (context == nullptr) return false;
  read->next_psn = job.packet->bth.psn;
  read->received = static_cast<std::uint32_t>(job.offset);
  read->scattering = 0;
  read->answered = false;
  read->asked_again = true;
  ++qp.scatter_epoch;
  retransmitter_->page_missing(qp, *context, read->next_psn, Retransmitter::kAllUnderWay);
  return true;
}

bool ReadResponseReceiver::leave(std::uint64_t, DmaEngine::Job& job) {
  if (job.absent && !job.is_void() && !leave_for_page(job)) return false;
  mac_rx_->release(*job.packet);
  if (job.is_void() || job.absent) return true;
  NicQueuePair& qp = *job.qp;
  OutstandingRead* read = qp.find_read(job.id);
  if (read == nullptr) return true;
  --read->scattering;
  if (job.failed == CompletionStatus::kSuccess) {
    if (read->done() || (qp.failed && read->scattering == 0)) w_.completer.advance(qp);
  } else {
    read->local_error = job.failed;  // should it be about to be sent again
    w_.completer.message_failed(qp, job.id, job.failed);
  }
  return true;
}

void ReadResponseReceiver::report(const MetricScope& scope) const {
  scope.count("answers", answers_, "READ responses and answers to atomics taken");
  scope.bytes("payload_bytes", answered_, "bytes of them, written to host memory");
}

}  // namespace rnicsim
