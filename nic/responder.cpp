// SPDX-License-Identifier: MIT
#include "nic/responder.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"
#include "nic/read_responder.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kMaxMessageBytes = 1ULL << 31;  // IBTA 9.7.2
constexpr std::uint32_t kGrhBytes = 40;

/// States in which requests are taken (IBTA 10.3.1; draining and SQE concern the send queue only).
bool receives(QpState state) {
  return state == QpState::kRtr || state == QpState::kRts || state == QpState::kSqd ||
         state == QpState::kSqe;
}

WireTransport wire_transport(Transport transport) {
  switch (transport) {
    case Transport::kRc:
      return WireTransport::kRc;
    case Transport::kUc:
      return WireTransport::kUc;
    case Transport::kUd:
      break;
  }
  return WireTransport::kUd;
}

bool is_read(Opcode opcode) { return opcode == Opcode::kReadRequest; }

/// Opcodes that are a whole message or begin one.
bool begins(Opcode opcode) {
  return starts_message(opcode) || is_read(opcode) || is_atomic(opcode);
}

std::uint8_t right_for(Opcode opcode) {
  if (is_read(opcode)) return AccessFlags::kRemoteRead;
  return is_atomic(opcode) ? AccessFlags::kRemoteAtomic : AccessFlags::kRemoteWrite;
}

}  // namespace

void ResponderConfig::describe(Fields& fields) {
  fields.object("pipeline", pipeline, "context look-up, PSN and opcode checks");
  fields.object("ack_pipeline", ack_pipeline, "from the decision to answer to the port");
  fields.field("window", window, range(1, 1024),
               "packets that translate and write to host memory at once");
}

Responder::Responder(const Wiring& wiring, const ResponderConfig& config)
    : w_(wiring),
      config_(config),
      pipeline_(wiring.clock, config.pipeline),
      context_port_(wiring.contexts.add_port(wiring.clock)),
      ack_pipeline_(wiring.clock, config.ack_pipeline),
      dma_({wiring.scheduler, wiring.clock, wiring.pcie, wiring.key_checker, wiring.elided},
           DmaEngine::Direction::kScatter, *this) {}

void Responder::receive(PacketRef packet, Time ready) {
  ++requests_;
  Slot& slot = slots_.push(Slot{});
  slot.packet = std::move(packet);
  slot.ready = ready;
  most_slots_ = std::max(most_slots_, slots_.size());
  pump();
}

/// Judges packets in arrival order as far as the window and the caches allow.
void Responder::pump() {
  if (pumping_) return;
  pumping_ = true;
  while (dma_.size() < slots_.size()) {
    if (dma_.size() >= config_.window) {
      if (waits_since_ == Time::never()) waits_since_ = w_.scheduler.now();
      break;
    }
    if (waits_since_ != Time::never())
      stalled_window_ += w_.scheduler.now() - std::exchange(waits_since_, Time::never());
    Slot& next = slots_.at(dma_.size());
    if (!next.entered) {
      next.ready = context_port_.enter(pipeline_.enter(std::max(next.ready, w_.scheduler.now())));
      next.entered = true;
    }
    if (invalidating_ != 0 && waits_for_key(next)) break;
    if (!judge(next)) break;
    hand_over(next);
  }
  pumping_ = false;
  flush_waiting();
}

/// False: an entry has to be fetched first.
bool Responder::judge(Slot& slot) {
  const Bth& bth = slot.packet->bth;
  const Qpn qpn = bth.dest_qp;
  slot.verdict = Verdict::kDrop;
  if (!w_.contexts.in_range(qpn.value())) return true;
  abi::QpContext* context =
      w_.contexts.lookup(qpn.value(), call<&Responder::pump>(this), slot.packet->work_request);
  if (context == nullptr) return false;
  if (!receives(context->state) || bth.transport != wire_transport(context->transport)) return true;
  NicQueuePair& qp = w_.qps.at(qpn);
  switch (context->transport) {
    case Transport::kRc:
      return judge_reliable(slot, qp, *context);
    case Transport::kUc:
      return judge_unreliable(slot, qp, *context);
    case Transport::kUd:
      break;
  }
  return judge_datagram(slot, qp, *context);
}

bool Responder::judge_reliable(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  slot.verdict = slot.again ? Verdict::kRead : Verdict::kTake;
  if (!slot.check_begun) {
    if (!judge_sequence(slot, qp, context)) return true;
    slot.again = slot.verdict == Verdict::kRead;
  }
  if (!slot.check_begun && !slot.again) {
    if (!well_formed(packet, qp, context) || !has_resources(packet, qp, context, false)) {
      fail_receive(slot, qp, CompletionStatus::kFlushed);
      refuse(slot, qp, context, NakCode::kInvalidRequest);
      return true;
    }
    switch (claim(slot, qp, context)) {
      case ReceiveQueues::Taken::kReady:
        break;
      case ReceiveQueues::Taken::kWait:
        return false;
      case ReceiveQueues::Taken::kEmpty:
        slot.verdict = Verdict::kNak;
        slot.ack_psn = packet.bth.psn;
        slot.aeth = Aeth::rnr_nak(context.msn, context.min_rnr_timer);
        qp.nak_sent = true;
        return true;
    }
    if (is_send(packet.bth.opcode) && !fits_receive(packet, qp)) {
      fail_receive(slot, qp, CompletionStatus::kLocalLengthError);
      refuse(slot, qp, context, NakCode::kInvalidRequest);
      return true;
    }
  }
  if (is_atomic(packet.bth.opcode) && atomics_claimed_ >= w_.atomics.capacity()) return false;
  if (!judge_key(slot, qp, context)) return false;
  if (slot.check.state == KeyCheck::State::kNak) {
    // A WRITE with immediate data that has taken a receive (IBTA 11.6.2).
    fail_receive(slot, qp, CompletionStatus::kLocalAccessError);
    refuse(slot, qp, context, NakCode::kRemoteAccessError);
  } else if (slot.verdict == Verdict::kTake) {
    accept(slot, qp, context);
  }
  return true;
}

/// PSN check (IBTA 9.7.4.1.2). False: decided without looking further.
bool Responder::judge_sequence(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const std::int32_t ahead = slot.packet->bth.psn - context.expected_psn;
  if (ahead == 0) {
    qp.nak_sent = false;
    return true;
  }
  if (ahead < 0) {
    judge_duplicate(slot, qp, context);
    return slot.verdict == Verdict::kRead;
  }
  judge_gap(slot, qp, context);
  return false;
}

void Responder::judge_duplicate(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  ++duplicates_;
  slot.verdict = Verdict::kAcknowledge;
  slot.ack_psn = context.expected_psn + Psn::kMask;  // the last one received: expected - 1
  slot.aeth = Aeth::ack(context.msn);
  if (is_read(packet.bth.opcode)) {
    // Answered again, wholly from before what is expected.
    const std::uint32_t span = read_span(packet, context.path_mtu());
    const bool whole = packet.bth.psn + span - context.expected_psn <= 0;
    slot.verdict =
        whole && has_resources(packet, qp, context, true) ? Verdict::kRead : Verdict::kDrop;
  } else if (is_atomic(packet.bth.opcode)) {
    slot.verdict = Verdict::kDrop;
    for (std::size_t i = 0; i < qp.atomics.size(); ++i) {
      if (qp.atomics.at(i).psn != packet.bth.psn || !qp.atomics.at(i).known) continue;
      slot.verdict = Verdict::kAgain;
      slot.original = qp.atomics.at(i).original;
    }
  }
}

void Responder::judge_gap(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  ++out_of_sequence_;
  slot.verdict = qp.nak_sent ? Verdict::kDrop : Verdict::kNak;
  if (!qp.nak_sent && w_.restarts_messages && qp.receiving) {
    context.expected_psn = qp.receive_first_psn;
    w_.contexts.mark_dirty(qp.qpn.value());
    qp.receiving = false;
  }
  slot.ack_psn = context.expected_psn;
  slot.aeth = Aeth::nak(context.msn, NakCode::kPsnSequenceError);
  qp.nak_sent = true;
}

std::uint32_t Responder::read_span(const Packet& packet, std::uint32_t mtu) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(divide_up(std::uint64_t{packet.reth.dma_length}, mtu), 1));
}

/// Reserved opcodes, opcode sequence and lengths (IBTA 9.7.4.1.3, 9.7.4.1.4, 9.7.4.1.6).
bool Responder::well_formed(const Packet& packet, const NicQueuePair& qp,
                            const abi::QpContext& context) const {
  const Opcode opcode = packet.bth.opcode;
  if (!is_request(opcode) || begins(opcode) == qp.receiving) return false;
  if (!begins(opcode) && is_send(opcode) != qp.receiving_send) return false;
  if (needs_receive(packet) && context.srqn == 0 &&
      (context.flags & abi::QpContext::kHasReceiveQueue) == 0)
    return false;
  if (is_atomic(opcode)) return packet.reth.virtual_address.value() % AtomicUnit::kBytes == 0;
  if (is_read(opcode)) return packet.reth.dma_length <= kMaxMessageBytes;
  return length_fits(packet, qp, context.path_mtu());
}

bool Responder::length_fits(const Packet& packet, const NicQueuePair& qp, std::uint32_t mtu) const {
  const std::uint64_t length = packet.payload_length.count();
  const bool ends = ends_message(packet.bth.opcode);
  if (is_send(packet.bth.opcode)) return ends ? length <= mtu : length == mtu;
  const std::uint64_t left =
      starts_message(packet.bth.opcode) ? packet.reth.dma_length : qp.receive_left;
  return ends ? length == left && length <= mtu : length == mtu && length < left;
}

/// READs and atomics that may be owed at once (IBTA 9.7.4.1.5: responder resources). Answers that
/// are owed again have resources of their own: whoever asks anew has had the first ones.
bool Responder::has_resources(const Packet& packet, NicQueuePair& qp, const abi::QpContext& context,
                              bool again) const {
  if (!is_read(packet.bth.opcode) && !is_atomic(packet.bth.opcode)) return true;
  std::size_t owed = 0;
  for (std::size_t i = 0; i < qp.owed.size(); ++i)
    if (qp.owed.at(i).kind != OwedResponse::Kind::kAcknowledge && qp.owed.at(i).again == again)
      ++owed;
  return owed < context.max_dest_rd_atomic;
}

bool Responder::needs_receive(const Packet& packet) {
  const Opcode opcode = packet.bth.opcode;
  return is_send(opcode) ? starts_message(opcode) : has_immediate(opcode);
}

/// Finds the message its receive, if it needs one and has none yet.
ReceiveQueues::Taken Responder::claim(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  if (!needs_receive(*slot.packet) || qp.receive != 0) return ReceiveQueues::Taken::kReady;
  Receive receive;
  const auto taken = w_.receives.take(qp, context, receive, call<&Responder::pump>(this));
  if (taken != ReceiveQueues::Taken::kReady) return taken;
  w_.contexts.mark_dirty(qp.qpn.value());
  qp.receive = receives_.add(receive);
  slot.ready = std::max(slot.ready, receive.ready);
  return taken;
}

bool Responder::fits_receive(const Packet& packet, const NicQueuePair& qp) const {
  const std::uint64_t before = starts_message(packet.bth.opcode) ? 0 : qp.received;
  return before + packet.payload_length.count() <= receives_.at(qp.receive).capacity;
}

/// The rkey over the whole message at its first packet; later packets only translate. False: an
/// entry has to be fetched first.
bool Responder::judge_key(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const Opcode opcode = packet.bth.opcode;
  if (is_send(opcode)) return true;
  if (!slot.check_begun) begin_check(slot, qp, context);
  // A zero-length request touches no memory and is not checked (IBTA 9.7.4.1.5).
  if (begins(opcode) && !is_atomic(opcode) && packet.reth.dma_length == 0) {
    slot.check.state = KeyCheck::State::kPass;
    return true;
  }
  return w_.key_checker.run(slot.check, KeyCheck::State::kTranslate, call<&Responder::pump>(this));
}

void Responder::begin_check(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const Opcode opcode = packet.bth.opcode;
  KeyCheck& check = slot.check;
  slot.check_begun = true;
  check.not_before = w_.key_checker.enter(slot.ready);
  slot.key_since = slot.ready;
  check.work_request = packet.work_request;
  check.length = is_atomic(opcode) ? AtomicUnit::kBytes
                                   : static_cast<std::uint32_t>(packet.payload_length.count());
  check.pd = context.pd;
  check.qpn = qp.qpn;
  if (begins(opcode)) {
    check.key = packet.reth.r_key;
    check.region_address = packet.reth.virtual_address;
    check.region_length = is_atomic(opcode) ? AtomicUnit::kBytes : packet.reth.dma_length;
    check.needs = right_for(opcode);
    check.qp_allows = context.access.allows(check.needs);
    check.address = packet.reth.virtual_address;
  } else {
    check.key = qp.receive_key;
    check.address = qp.receive_address;
    check.state = KeyCheck::State::kTranslate;
  }
}

/// The packet is in order and allowed: moves the queue pair's receive state past it.
void Responder::accept(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const Opcode opcode = packet.bth.opcode;
  slot.ack_psn = packet.bth.psn;
  if (is_read(opcode)) {
    slot.verdict = Verdict::kRead;
    context.expected_psn = context.expected_psn + read_span(packet, context.path_mtu());
    context.msn = (context.msn + 1) & Psn::kMask;
    ++reads_;
  } else if (is_atomic(opcode)) {
    slot.verdict = Verdict::kAtomic;
    ++context.expected_psn;
    context.msn = (context.msn + 1) & Psn::kMask;
    ++atomics_;
    ++atomics_claimed_;
    if (qp.atomics.size() >= context.max_dest_rd_atomic && !qp.atomics.empty()) qp.atomics.pop();
    qp.atomics.push({packet.bth.psn, 0, false});
  } else {
    accept_payload(slot, qp, context);
  }
  w_.contexts.mark_dirty(qp.qpn.value());
  slot.aeth = Aeth::ack(context.msn);
}

void Responder::accept_payload(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const Opcode opcode = packet.bth.opcode;
  const std::uint64_t length = packet.payload_length.count();
  if (starts_message(opcode)) {
    qp.received = 0;
    qp.receive_first_psn = packet.bth.psn;
    qp.receiving_send = is_send(opcode);
    qp.receive_key = packet.reth.r_key;
    qp.receive_address = packet.reth.virtual_address;
    qp.receive_left = packet.reth.dma_length;
  }
  if (is_send(opcode)) {
    slot.receive = receives_.share(qp.receive);
    slot.offset = qp.received;
  }
  qp.received += length;
  slot.address = qp.receive_address;
  qp.receive_address = VirtualAddress(qp.receive_address.value() + length);
  qp.receive_left -= length;
  qp.receiving = !ends_message(opcode);
  ++context.expected_psn;
  if (qp.receiving) return;
  context.msn = (context.msn + 1) & Psn::kMask;
  ++messages_;
  if (is_send(opcode) || has_immediate(opcode)) owe_completion(slot, qp, context);
}

/// The message is whole: its receive completes when its data have been handed to PCIe.
void Responder::owe_completion(Slot& slot, NicQueuePair& qp, const abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const Opcode opcode = packet.bth.opcode;
  abi::Cqe& cqe = slot.cqe;
  slot.cqe_due = true;
  cqe.status = CompletionStatus::kSuccess;
  cqe.qpn = qp.qpn;
  cqe.wqe_counter = receives_.at(qp.receive).counter;
  cqe.immediate = packet.immdt.immediate;
  if (!is_send(opcode)) {
    cqe.opcode = abi::CqeOpcode::kResponseWriteImm;
    cqe.byte_count = static_cast<std::uint32_t>(qp.received);
  } else {
    cqe.opcode = has_immediate(opcode) ? abi::CqeOpcode::kResponseSendImm
                 : has_ieth(opcode)    ? abi::CqeOpcode::kResponseSendInvalidate
                                       : abi::CqeOpcode::kResponseSend;
    if (has_ieth(opcode)) {
      cqe.immediate = packet.ieth.r_key.value();
      slot.invalidates = true;
      ++invalidating_;
    }
    cqe.byte_count = static_cast<std::uint32_t>(qp.received);
    const bool short_enough = starts_message(opcode) && qp.received <= abi::Cqe::kInlineBytes;
    if ((context.flags & abi::QpContext::kInlineReceive) != 0 && short_enough && !w_.elided) {
      cqe.flags |= abi::Cqe::kInlineData;
      std::copy_n(packet.payload(), qp.received, cqe.inline_data.begin());
    }
  }
  receives_.drop(qp.receive);
}

/// The receive that the message has taken completes in error.
void Responder::fail_receive(Slot& slot, NicQueuePair& qp, CompletionStatus status) {
  if (qp.receive == 0) return;
  slot.cqe_due = true;
  slot.cqe.opcode = abi::CqeOpcode::kResponseError;
  slot.cqe.status = status;
  slot.cqe.qpn = qp.qpn;
  slot.cqe.wqe_counter = receives_.at(qp.receive).counter;
  receives_.drop(qp.receive);
}

/// NAK, and the queue pair is in error (IBTA 9.9.3, class C).
void Responder::refuse(Slot& slot, NicQueuePair& qp, abi::QpContext& context, NakCode code) {
  slot.verdict = Verdict::kNak;
  slot.ack_psn = slot.packet->bth.psn;
  slot.aeth = Aeth::nak(context.msn, code);
  slot.fault = slot.check.fault;
  probe(std::max(slot.ready, w_.scheduler.now()), ProbeKind::kKeyChecked, slot.packet->work_request,
        slot.packet->id, static_cast<std::uint64_t>(slot.key_since.ps()),
        static_cast<std::uint64_t>(slot.fault));
  completer_->enter_error(qp, context,
                          code == NakCode::kRemoteAccessError
                              ? CompletionStatus::kLocalAccessError
                              : CompletionStatus::kRemoteInvalidRequest);
}

/// An unreliable connection loses messages silently (IBTA 9.8.2): a gap ends the present one, and
/// so does the first packet of another, with which the next begins.
bool Responder::judge_unreliable(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const Opcode opcode = packet.bth.opcode;
  slot.verdict = Verdict::kDrop;
  if (!slot.check_begun) {
    if (packet.bth.psn != context.expected_psn) {
      ++out_of_sequence_;
      context.expected_psn = packet.bth.psn;
      qp.receiving = false;
    }
    if (starts_message(opcode)) qp.receiving = false;
    const bool usable = is_defined(WireTransport::kUc, opcode) && well_formed(packet, qp, context);
    const auto taken = usable ? claim(slot, qp, context) : ReceiveQueues::Taken::kEmpty;
    if (taken == ReceiveQueues::Taken::kWait) return false;
    if (taken == ReceiveQueues::Taken::kEmpty || (is_send(opcode) && !fits_receive(packet, qp))) {
      ++context.expected_psn;
      w_.contexts.mark_dirty(qp.qpn.value());
      qp.receiving = false;
      return true;
    }
  }
  if (!judge_key(slot, qp, context)) return false;
  if (slot.check.state == KeyCheck::State::kNak) {
    ++context.expected_psn;
    w_.contexts.mark_dirty(qp.qpn.value());
    qp.receiving = false;
    return true;
  }
  slot.verdict = Verdict::kTake;
  accept(slot, qp, context);
  return true;
}

/// A datagram (IBTA 9.8.3): qkey, a receive with room for GRH and payload; else it is dropped.
bool Responder::judge_datagram(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const std::uint64_t length = packet.payload_length.count();
  if (!is_defined(WireTransport::kUd, packet.bth.opcode) || packet.deth.q_key != context.qkey ||
      length > context.path_mtu())
    return true;
  const auto taken = claim(slot, qp, context);
  if (taken == ReceiveQueues::Taken::kWait) return false;
  if (taken == ReceiveQueues::Taken::kEmpty) return true;
  if (length + kGrhBytes > receives_.at(qp.receive).capacity) {
    fail_receive(slot, qp, CompletionStatus::kLocalLengthError);
    return true;
  }
  slot.verdict = Verdict::kTake;
  slot.receive = receives_.share(qp.receive);
  qp.received = length + kGrhBytes;
  ++messages_;
  owe_completion(slot, qp, context);
  slot.cqe.source_qpn = packet.deth.source_qp;
  slot.cqe.flags |= abi::Cqe::kGrh;
  return true;
}

/// Judged: what it has to move goes to the DMA engine.
void Responder::hand_over(Slot& slot) {
  const Packet& packet = *slot.packet;
  const Opcode opcode = packet.bth.opcode;
  KeyCheck& check = slot.check;
  DmaEngine::Job job;
  job.packet = slot.packet;
  job.id = packet.work_request;
  if (slot.check_begun)
    slot.ready = w_.clock.after(std::max({slot.ready, check.not_before, w_.scheduler.now()}),
                                std::exchange(check.cycles, Cycles(0)));
  job.ready = slot.ready;
  const bool inlined = (slot.cqe.flags & abi::Cqe::kInlineData) != 0;
  if (slot.verdict == Verdict::kTake && slot.receive != 0) {
    const bool datagram = packet.bth.transport == WireTransport::kUd;
    job.prefix = datagram ? kGrhBytes : 0;
    job.bytes =
        inlined ? 0 : job.prefix + static_cast<std::uint32_t>(packet.payload_length.count());
    job.message = slot.receive;
    job.offset = slot.offset;
    job.check.pd = w_.contexts.peek(packet.bth.dest_qp.value())->pd;
  } else if (slot.verdict == Verdict::kTake || slot.verdict == Verdict::kAtomic) {
    job.bytes = check.state == KeyCheck::State::kPass ? 0 : check.length;
    if (begins(opcode))
      probe(slot.ready, ProbeKind::kKeyChecked, packet.work_request, packet.id,
            static_cast<std::uint64_t>(slot.key_since.ps()), 0);
    slot.key_since = slot.ready;
    job.check = check;
    job.check.not_before = slot.ready;
    job.check_set = true;
  } else if (slot.verdict == Verdict::kRead) {
    probe(std::max(slot.ready, w_.scheduler.now()), ProbeKind::kKeyChecked, packet.work_request,
          packet.id, static_cast<std::uint64_t>(slot.key_since.ps()), 0);
  }
  dma_.add(std::move(job));
}

void Responder::begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) {
  const Receive& receive = receives_.at(job.message);
  DmaEngine::aim(check, receive.segments.data(), job.offset + moved, job.bytes - moved);
  check.needs = AccessFlags::kLocalWrite;
}

bool Responder::may_move(std::uint64_t sequence, DmaEngine::Job&) {
  Slot& slot = this->slot(sequence);
  if (!w_.qps.at(slot.packet->bth.dest_qp).receive_failed) return true;
  cancel(slot);
  return false;
}

/// Judged before the request ahead of it was refused: it is not carried out.
void Responder::cancel(Slot& slot) {
  if (slot.verdict == Verdict::kAtomic && !slot.executed) --atomics_claimed_;
  slot.verdict = Verdict::kDrop;
  if (!slot.cqe_due) return;
  // The end of a message of which an earlier packet could not be written tells why.
  const NicQueuePair& qp = w_.qps.at(slot.packet->bth.dest_qp);
  const bool same = slot.receive != 0 && slot.receive == qp.failed_receive;
  slot.cqe.opcode = abi::CqeOpcode::kResponseError;
  slot.cqe.status = same ? CompletionStatus::kLocalProtectionError : CompletionStatus::kFlushed;
}

bool Responder::take_over(std::uint64_t sequence, DmaEngine::Job& job) {
  Slot& slot = this->slot(sequence);
  if (slot.verdict != Verdict::kAtomic) return false;
  const Packet& packet = *slot.packet;
  AtomicUnit::Operation operation;
  operation.kind = packet.bth.opcode == Opcode::kCompareSwap ? AtomicUnit::Kind::kCompareSwap
                                                             : AtomicUnit::Kind::kFetchAdd;
  operation.address = job.check.pieces[0].address;
  operation.swap_or_add = packet.atomic.swap_or_add;
  operation.compare = packet.atomic.compare;
  operation.work_request = packet.work_request;
  slot.ticket = w_.atomics.submit(operation, call<&Responder::executed>(this, sequence));
  return true;
}

void Responder::executed(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  slot.original = w_.atomics.original(slot.ticket);
  slot.executed = true;
  --atomics_claimed_;
  w_.atomics.release(slot.ticket);
  NicQueuePair& qp = w_.qps.at(slot.packet->bth.dest_qp);
  for (std::size_t i = 0; i < qp.atomics.size(); ++i)
    if (qp.atomics.at(i).psn == slot.packet->bth.psn)
      qp.atomics.at(i) = {slot.ack_psn, slot.original, true};
  dma_.finished(sequence);
  pump();
}

/// The key was invalidated after the message began, its table lacks the page, or a receive's memory
/// may not be written.
void Responder::refused(std::uint64_t sequence, DmaEngine::Job&, KeyFault fault) {
  Slot& slot = this->slot(sequence);
  slot.refused_late = true;
  slot.fault = fault;
  if (slot.verdict == Verdict::kAtomic) --atomics_claimed_;
  NicQueuePair& qp = w_.qps.at(slot.packet->bth.dest_qp);
  qp.receive_failed = true;
  qp.receive_failed_at = sequence;
  qp.failed_receive = slot.receive;
}

void Responder::part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) {
  const Time now = w_.scheduler.now();
  probe(now, ProbeKind::kTranslated, job.id, job.packet->id,
        static_cast<std::uint64_t>(job.ready.ps()), check.missed ? 1 : 0);
  if (moved == 0)
    probe(now, ProbeKind::kPayloadWriteStart, job.id, job.packet->id, check.address.value(),
          job.bytes);
  for (std::size_t i = 0; i < check.piece_count; ++i) written_ += Bytes(check.pieces[i].bytes);
}

void Responder::done(const DmaEngine::Job& job, Time since) {
  if (is_atomic(job.packet->bth.opcode)) return;
  probe(w_.scheduler.now(), ProbeKind::kPayloadHanded, job.id, job.packet->id,
        static_cast<std::uint64_t>(since.ps()), job.packet->payload_length.count());
}

/// What stands before a datagram in its receive: GRH or IPv6 header; of RoCEv2 over IPv4 the IPv4
/// header in the last 20 of as many bytes (annex A17.4.5).
void Responder::prefix(const DmaEngine::Job& job, std::uint8_t* to) {
  if (job.packet->has_grh()) {
    job.packet->grh().write(to);
    return;
  }
  std::fill_n(to, kGrhBytes, std::uint8_t{0});
  Ipv4Header header = job.packet->ipv4;
  header.total_length = static_cast<std::uint16_t>(job.packet->ip_bytes().count());
  header.write(to + kGrhBytes - Ipv4Header::kBytes);
}

/// The oldest packet is through: completion, answer, end.
bool Responder::leave(std::uint64_t sequence, DmaEngine::Job&) {
  Slot& front = slots_.front();
  if ((front.verdict == Verdict::kTake || front.verdict == Verdict::kRead) && !front.refused_late) {
    const NicQueuePair& qp = w_.qps.at(front.packet->bth.dest_qp);
    if (qp.receive_failed && sequence > qp.receive_failed_at) cancel(front);
  }
  if (front.refused_late && !refuse_late(front)) return false;
  if (front.invalidates && !invalidate(front)) return false;
  if (front.class_j && !fail_invalidation(front)) return false;
  if (front.cqe_due && !write_completion(front)) return false;
  if (!answer(front)) return false;
  if (front.verdict == Verdict::kDrop) ++dropped_;
  receives_.drop(front.receive);
  w_.mac_rx.release(*front.packet);
  slots_.pop();
  return true;
}

/// A SEND that takes a key away from the queue pair is under way.
bool Responder::waits_for_key(const Slot& next) {
  for (std::size_t i = 0; i < dma_.size(); ++i)
    if (slots_.at(i).invalidates && slots_.at(i).packet->bth.dest_qp == next.packet->bth.dest_qp)
      return true;
  return false;
}

/// The SEND's data are there: its key goes, before its receive completes. False: not yet.
bool Responder::invalidate(Slot& slot) {
  if (slot.invalidating) return false;
  if (slot.verdict != Verdict::kTake) {
    slot.invalidates = false;
    --invalidating_;
    return true;
  }
  const Qpn qpn = slot.packet->bth.dest_qp;
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  slot.invalidating = true;
  KeyOperations::Operation operation;
  operation.kind = KeyOperations::Kind::kRemoteInvalidate;
  operation.key = slot.packet->ieth.r_key;
  operation.pd = context->pd;
  operation.qpn = qpn;
  operation.work_request = slot.packet->work_request;
  w_.key_operations.submit(operation, call<&Responder::invalidated>(this));
  return false;
}

/// The oldest packet's key has gone, or may not.
void Responder::invalidated() {
  Slot& front = slots_.front();
  front.invalidates = front.invalidating = false;
  --invalidating_;
  front.class_j = w_.key_operations.fault() != KeyOperations::Fault::kNone;
  dma_.drain();
  pump();
}

/// False: the context has to be fetched first.
bool Responder::fail_invalidation(Slot& slot) {
  const Qpn qpn = slot.packet->bth.dest_qp;
  abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  slot.class_j = false;
  slot.cqe.opcode = abi::CqeOpcode::kResponseError;
  slot.cqe.status = CompletionStatus::kRemoteInvalidRequest;
  if (receives(context->state))
    completer_->enter_error(w_.qps.at(qpn), *context, CompletionStatus::kRemoteInvalidRequest);
  return true;
}

/// False: the context has to be fetched first.
bool Responder::refuse_late(Slot& slot) {
  const Qpn qpn = slot.packet->bth.dest_qp;
  abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  slot.refused_late = false;
  const bool local = slot.receive != 0;
  const bool ended = slot.cqe_due;
  slot.cqe_due = false;
  slot.verdict = Verdict::kDrop;
  NicQueuePair& qp = w_.qps.at(qpn);
  const bool reliable = context->transport == Transport::kRc;
  if (!reliable && !local) {  // the message is lost in silence
    qp.receive_failed = false;
    return true;
  }
  const bool fails = receives(context->state);
  if (ended) {
    slot.cqe.opcode = abi::CqeOpcode::kResponseError;
    slot.cqe.status =
        local && fails ? CompletionStatus::kLocalProtectionError : CompletionStatus::kFlushed;
    slot.cqe_due = true;
  }
  if (!fails) return true;
  // What was accepted behind it meanwhile is not complete: the NAK counts what came before.
  const std::uint32_t own = ends_message(slot.packet->bth.opcode) ? 1 : 0;
  const std::uint32_t msn = slot.aeth.msn - own;
  // The queue pair's present receive may be that of a later message: it is flushed in its turn.
  if (local && !ended && qp.receive == slot.receive)
    fail_receive(slot, qp, CompletionStatus::kLocalProtectionError);
  if (!reliable) {
    completer_->enter_error(qp, *context, CompletionStatus::kLocalProtectionError);
    return true;
  }
  slot.check.fault = slot.fault;
  const NakCode code = local ? NakCode::kRemoteOperationalError : NakCode::kRemoteAccessError;
  refuse(slot, qp, *context, code);
  slot.aeth = Aeth::nak(msn, code);
  return true;
}

/// False: the CQE writer is full, or the context has to be fetched first.
bool Responder::write_completion(Slot& slot) {
  const Qpn qpn = slot.packet->bth.dest_qp;
  if (!w_.cqe_writer.has_room()) {
    if (!waits_for_writer_) writer_since_ = w_.scheduler.now();
    waits_for_writer_ = true;
    return false;
  }
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  slot.cqe_due = false;
  w_.cqe_writer.write(context->receive_cqn, slot.cqe, slot.packet->work_request,
                      w_.scheduler.now());
  return true;
}

/// False: the port's queue is full, or the context has to be fetched first.
bool Responder::answer(Slot& slot) {
  const bool acknowledges = slot.verdict == Verdict::kTake && slot.packet->bth.ack_req &&
                            slot.packet->bth.transport == WireTransport::kRc;
  if (slot.verdict == Verdict::kDrop || (slot.verdict == Verdict::kTake && !acknowledges))
    return true;
  if (acknowledges && is_coalesced(slot)) {
    ++coalesced_;
    return true;
  }
  const Qpn qpn = slot.packet->bth.dest_qp;
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  NicQueuePair& qp = w_.qps.at(qpn);
  if (slot.verdict != Verdict::kRead && slot.verdict != Verdict::kAtomic &&
      slot.verdict != Verdict::kAgain)
    return send_acknowledge(slot, qp, *context);
  OwedResponse owed;
  owed.kind =
      slot.verdict == Verdict::kRead ? OwedResponse::Kind::kRead : OwedResponse::Kind::kAtomic;
  owed.aeth = slot.aeth;
  owed.psn = slot.packet->bth.psn;
  owed.key = slot.packet->reth.r_key;
  owed.address = slot.packet->reth.virtual_address;
  owed.length = slot.verdict == Verdict::kRead ? slot.packet->reth.dma_length : 0;
  owed.original = slot.original;
  owed.id = slot.packet->work_request;
  owed.again = slot.again || slot.verdict == Verdict::kAgain;
  if (slot.again) forget_answers(qp, owed.psn);
  qp.owed.push(owed);
  read_responder_->owes(qp);
  return true;
}

/// Who asks again for a READ asks again for all that follows it, too: that would come twice, and
/// what is wanted only after it. Who asks from the middle of one on has missed a packet, and what
/// is on its way to the wire is void as well; from the first packet on it may be a copy of the
/// request that the network made, and nobody would ask for those answers before a timeout.
void Responder::forget_answers(NicQueuePair& qp, Psn psn) {
  std::size_t kept = 0;
  while (kept < qp.owed.size() && qp.owed.at(kept).psn - psn < 0) ++kept;
  qp.owed.truncate(kept);
  if (psn - qp.answering_first <= 0 || psn - qp.answering_end >= 0) return;
  ++qp.response_epoch;
  ++qp.answer_epoch;
  qp.answers_under_way = 0;
}

/// The next packet of the same queue pair is through as well: its acknowledgement says it all.
bool Responder::is_coalesced(const Slot& slot) {
  if (slots_.size() < 2 || dma_.size() < 2 || !dma_.is_through(dma_.first() + 1)) return false;
  const Slot& next = slots_.at(1);
  return next.verdict == Verdict::kTake && !next.refused_late && next.packet->bth.ack_req &&
         next.packet->bth.dest_qp == slot.packet->bth.dest_qp;
}

bool Responder::send_acknowledge(Slot& slot, NicQueuePair& qp, const abi::QpContext& context) {
  const bool in_order = qp.owed.empty() && qp.answers_under_way == 0;
  if (in_order && !w_.mac_tx.has_room(MacTx::Queue::kResponse)) {
    if (!waits_for_port_) port_since_ = w_.scheduler.now();
    waits_for_port_ = true;
    return false;
  }
  if (slot.aeth.is_ack()) ++acks_;
  if (slot.aeth.is_nak()) ++naks_;
  if (slot.aeth.is_rnr_nak()) ++rnr_naks_;
  const Time ready = ack_pipeline_.enter(w_.scheduler.now());
  probe(ready, ProbeKind::kAckSent, slot.packet->work_request, slot.packet->id,
        slot.ack_psn.value(), slot.aeth.syndrome);
  if (!in_order) {
    OwedResponse owed;
    owed.aeth = slot.aeth;
    owed.psn = slot.ack_psn;
    owed.id = slot.packet->work_request;
    qp.owed.push(owed);
    read_responder_->owes(qp);
    return true;
  }
  PacketRef ack = w_.port.make(context, Opcode::kAcknowledge, slot.ack_psn);
  ack->aeth = slot.aeth;
  ack->work_request = slot.packet->work_request;
  w_.mac_tx.enqueue(std::move(ack), ready, MacTx::Queue::kResponse);
  return true;
}

void Responder::response_started() {
  if (!waits_for_port_) return;
  waits_for_port_ = false;
  stalled_port_ += w_.scheduler.now() - port_since_;
  dma_.drain();
}

void Responder::go_on() {
  if (waits_for_writer_) {
    waits_for_writer_ = false;
    stalled_writer_ += w_.scheduler.now() - writer_since_;
    dma_.drain();
  }
  flush_waiting();
}

void Responder::flush_receives(NicQueuePair& qp) {
  if (qp.flushing_receives) {
    qp.flush_asked = 0;  // a record read before now may not tell of what was posted meanwhile
    return;
  }
  qp.flushing_receives = true;
  flushing_.push({&qp, dma_.first() + slots_.size()});
  flush_waiting();
}

void Responder::forget(NicQueuePair& qp) {
  completer_->forget(qp);
  receives_.drop(qp.receive);
  w_.receives.reset(qp);
}

void Responder::receives_posted(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  if (!w_.contexts.in_range(index)) return;
  NicQueuePair& qp = w_.qps.at(Qpn(index));
  if (qp.failed) flush_receives(qp);
}

void Responder::flush_waiting() {
  while (!flushing_.empty() && dma_.first() >= flushing_.front().behind &&
         flush_some(*flushing_.front().qp))
    flushing_.take().qp->flushing_receives = false;
}

/// False: not all yet.
bool Responder::flush_some(NicQueuePair& qp) {
  const std::uint32_t index = qp.qpn.value();
  abi::QpContext* context = w_.contexts.lookup(index, call<&Responder::flush_waiting>(this));
  if (context == nullptr) return false;
  if (context->state != QpState::kErr) return true;  // reset meanwhile
  while (true) {
    if (!w_.cqe_writer.has_room()) return false;
    std::uint16_t counter = 0;
    if (qp.receive != 0) {
      counter = receives_.at(qp.receive).counter;
      receives_.drop(qp.receive);
    } else if ((context->flags & abi::QpContext::kHasReceiveQueue) == 0) {
      return true;
    } else {
      const auto taken =
          w_.receives.take_for_flush(qp, *context, counter, call<&Responder::flush_waiting>(this));
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

void Responder::report(const MetricScope& scope) const {
  scope.count("requests", requests_, "request packets received");
  scope.count("messages", messages_, "messages received whole");
  scope.count("rx_read_requests", reads_, "READs accepted");
  scope.count("rx_atomic_requests", atomics_, "atomics accepted");
  scope.bytes("payload_bytes", written_, "payload bytes written to host memory");
  scope.count("acks", acks_, "acknowledgements sent");
  scope.count("acks_coalesced", coalesced_, "acknowledgements left out: the next said it as well");
  scope.count("naks", naks_, "negative acknowledgements sent");
  scope.count("rnr_naks", rnr_naks_, "RNR NAKs sent: no receive was posted");
  scope.count("duplicate_request", duplicates_, "requests received again");
  scope.count("out_of_sequence", out_of_sequence_, "requests whose PSN was ahead");
  scope.count("resp_cqe_flush_error", flushed_, "receives flushed");
  scope.count("dropped", dropped_, "requests that were dropped");
  scope.time("busy", pipeline_.busy(), "time the responder's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "packets waited for the pipeline");
  scope.time("stalled.fault", pipeline_.blocked(), "time that an injected stall held up packets");
  scope.time("stalled.window", stalled_window_, "time in which packets waited for the window");
  scope.time("stalled.port", stalled_port_,
             "time in which an acknowledgement waited for the port's response queue");
  scope.time("stalled.cqe_writer", stalled_writer_,
             "time in which a receive's completion waited for the CQE writer");
  scope.count("occupancy.max", most_slots_, "most packets between parser and acknowledgement");
}

}  // namespace rnicsim
