// SPDX-License-Identifier: MIT
#include "nic/responder.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"
#include "nic/read_responder.h"
#include "nic/request_check.h"

namespace rnicsim {

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
  ++received_;
  arrivals_.push({std::move(packet), ready});
  most_inside_ = std::max(most_inside_, arrivals_.size() + requests_.size());
  pump();
}

/// Judges packets in arrival order as far as the window and the caches allow.
void Responder::pump() {
  if (pumping_) return;
  pumping_ = true;
  while (InboundRequest* next = next_to_judge()) {
    if (invalidating_ != 0 && waits_for_key(*next)) break;
    if (!judge(*next)) break;
    hand_over(*next);
  }
  pumping_ = false;
  flush_waiting();
}

/// The one that waits for an entry or a key; else the oldest that has come, which passes the
/// pipeline now. Null: none has come, or the window is full.
InboundRequest* Responder::next_to_judge() {
  if (requests_.size() > dma_.size()) return &requests_.back();
  if (arrivals_.empty()) return nullptr;
  const Time now = w_.scheduler.now();
  if (dma_.size() >= config_.window) {
    if (waits_since_ == Time::never()) waits_since_ = now;
    return nullptr;
  }
  if (waits_since_ != Time::never())
    stalled_window_ += now - std::exchange(waits_since_, Time::never());
  Arrival arrival = arrivals_.take();
  InboundRequest& next = requests_.push(InboundRequest{});
  next.packet = std::move(arrival.packet);
  next.ready = context_port_.enter(pipeline_.enter(std::max(arrival.ready, now)));
  return &next;
}

/// False: an entry has to be fetched first.
bool Responder::judge(InboundRequest& request) {
  const Bth& bth = request.packet->bth;
  const Qpn qpn = bth.dest_qp;
  request.verdict = Verdict::kDrop;
  if (!w_.contexts.in_range(qpn.value())) return true;
  abi::QpContext* context =
      w_.contexts.lookup(qpn.value(), call<&Responder::pump>(this), request.packet->work_request);
  if (context == nullptr) return false;
  if (!receives(context->state) || bth.transport != wire_transport(context->transport)) return true;
  NicQueuePair& qp = w_.qps.at(qpn);
  switch (context->transport) {
    case Transport::kRc:
      return judge_reliable(request, qp, *context);
    case Transport::kUc:
      return judge_unreliable(request, qp, *context);
    case Transport::kUd:
      break;
  }
  return judge_datagram(request, qp, *context);
}

bool Responder::judge_reliable(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *request.packet;
  request.verdict = request.again ? Verdict::kRead : Verdict::kTake;
  if (!request.check_begun) {
    if (!judge_sequence(request, qp, context)) return true;
    request.again = request.verdict == Verdict::kRead;
  }
  if (!request.check_begun && !request.again) {
    if (!well_formed(packet, qp, context) || !has_resources(packet, qp, context, false)) {
      fail_receive(request, qp, CompletionStatus::kFlushed);
      refuse(request, qp, context, NakCode::kInvalidRequest);
      return true;
    }
    switch (claim(request, qp, context)) {
      case ReceiveQueues::Taken::kReady:
        break;
      case ReceiveQueues::Taken::kWait:
        return false;
      case ReceiveQueues::Taken::kEmpty:
        request.verdict = Verdict::kNak;
        request.ack_psn = packet.bth.psn;
        request.aeth = Aeth::rnr_nak(context.msn, context.min_rnr_timer);
        qp.nak_sent = true;
        return true;
    }
    if (is_send(packet.bth.opcode) && !fits_receive(packet, qp)) {
      fail_receive(request, qp, CompletionStatus::kLocalLengthError);
      refuse(request, qp, context, NakCode::kInvalidRequest);
      return true;
    }
  }
  if (is_atomic(packet.bth.opcode) && atomics_claimed_ >= w_.atomics.capacity()) return false;
  if (!judge_key(request, qp, context)) return false;
  if (request.check.state == KeyCheck::State::kNak) {
    fail_receive(request, qp, CompletionStatus::kFlushed);
    refuse(request, qp, context, NakCode::kRemoteAccessError);
  } else if (request.verdict == Verdict::kTake) {
    accept(request, qp, context);
  }
  return true;
}

/// PSN check (IBTA 9.7.4.1.2). False: decided without looking further.
bool Responder::judge_sequence(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  const std::int32_t ahead = request.packet->bth.psn - context.expected_psn;
  if (ahead == 0) {
    qp.nak_sent = false;
    return true;
  }
  if (ahead < 0) {
    judge_duplicate(request, qp, context);
    return request.verdict == Verdict::kRead;
  }
  judge_gap(request, qp, context);
  return false;
}

void Responder::judge_duplicate(InboundRequest& request, NicQueuePair& qp,
                                abi::QpContext& context) {
  const Packet& packet = *request.packet;
  ++duplicates_;
  request.verdict = Verdict::kAcknowledge;
  request.ack_psn = context.expected_psn + Psn::kMask;  // the last one received: expected - 1
  request.aeth = Aeth::ack(context.msn);
  if (is_read(packet.bth.opcode)) {
    // Answered again, wholly from before what is expected.
    const std::uint32_t span = read_span(packet, context.path_mtu());
    const bool whole = packet.bth.psn + span - context.expected_psn <= 0;
    request.verdict =
        whole && has_resources(packet, qp, context, true) ? Verdict::kRead : Verdict::kDrop;
  } else if (is_atomic(packet.bth.opcode)) {
    request.verdict = Verdict::kDrop;
    for (std::size_t i = 0; i < qp.atomics.size(); ++i) {
      if (qp.atomics.at(i).psn != packet.bth.psn || !qp.atomics.at(i).known) continue;
      request.verdict = Verdict::kAgain;
      request.original = qp.atomics.at(i).original;
    }
  }
}

void Responder::judge_gap(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  ++out_of_sequence_;
  request.verdict = qp.nak_sent ? Verdict::kDrop : Verdict::kNak;
  if (!qp.nak_sent && w_.restarts_messages && qp.receiving) {
    context.expected_psn = qp.receive_first_psn;
    w_.contexts.mark_dirty(qp.qpn.value());
    qp.receiving = false;
  }
  request.ack_psn = context.expected_psn;
  request.aeth = Aeth::nak(context.msn, NakCode::kPsnSequenceError);
  qp.nak_sent = true;
}

/// Finds the message its receive, if it needs one and has none yet.
ReceiveQueues::Taken Responder::claim(InboundRequest& request, NicQueuePair& qp,
                                      abi::QpContext& context) {
  if (!needs_receive(request.packet->bth.opcode) || qp.receive != 0)
    return ReceiveQueues::Taken::kReady;
  Receive receive;
  const auto taken = w_.receives.take(qp, context, receive, call<&Responder::pump>(this));
  if (taken != ReceiveQueues::Taken::kReady) return taken;
  w_.contexts.mark_dirty(qp.qpn.value());
  qp.receive = receives_.add(receive);
  request.ready = std::max(request.ready, receive.ready);
  return taken;
}

bool Responder::fits_receive(const Packet& packet, const NicQueuePair& qp) const {
  const std::uint64_t before = starts_message(packet.bth.opcode) ? 0 : qp.received;
  return before + packet.payload_length.count() <= receives_.at(qp.receive).capacity;
}

/// The rkey over the whole message at its first packet; later packets only translate. False: an
/// entry has to be fetched first.
bool Responder::judge_key(InboundRequest& request, const NicQueuePair& qp,
                          const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  if (is_send(opcode)) return true;
  if (!request.check_begun) begin_check(request, qp, context);
  // A zero-length request touches no memory and is not checked (IBTA 9.7.4.1.5).
  if (begins(opcode) && !is_atomic(opcode) && packet.reth.dma_length == 0) {
    request.check.state = KeyCheck::State::kPass;
    return true;
  }
  return w_.key_checker.run(request.check, KeyCheck::State::kTranslate,
                            call<&Responder::pump>(this));
}

void Responder::begin_check(InboundRequest& request, const NicQueuePair& qp,
                            const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  KeyCheck& check = request.check;
  request.check_begun = true;
  check.not_before = w_.key_checker.enter(request.ready);
  request.key_since = request.ready;
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
void Responder::accept(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  request.ack_psn = packet.bth.psn;
  if (is_read(opcode)) {
    request.verdict = Verdict::kRead;
    context.expected_psn = context.expected_psn + read_span(packet, context.path_mtu());
    context.msn = (context.msn + 1) & Psn::kMask;
    ++reads_;
  } else if (is_atomic(opcode)) {
    request.verdict = Verdict::kAtomic;
    ++context.expected_psn;
    context.msn = (context.msn + 1) & Psn::kMask;
    ++atomics_;
    ++atomics_claimed_;
    if (qp.atomics.size() >= context.max_dest_rd_atomic && !qp.atomics.empty()) qp.atomics.pop();
    qp.atomics.push({packet.bth.psn, 0, false});
  } else {
    accept_payload(request, qp, context);
  }
  w_.contexts.mark_dirty(qp.qpn.value());
  request.aeth = Aeth::ack(context.msn);
}

void Responder::accept_payload(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *request.packet;
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
    request.receive = receives_.share(qp.receive);
    request.offset = qp.received;
  }
  qp.received += length;
  qp.receive_address = VirtualAddress(qp.receive_address.value() + length);
  qp.receive_left -= length;
  qp.receiving = !ends_message(opcode);
  ++context.expected_psn;
  if (qp.receiving) return;
  context.msn = (context.msn + 1) & Psn::kMask;
  ++messages_;
  if (is_send(opcode) || has_immediate(opcode)) owe_completion(request, qp, context);
}

/// The message is whole: its receive completes when its data have been handed to PCIe.
void Responder::owe_completion(InboundRequest& request, NicQueuePair& qp,
                               const abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  abi::Cqe& cqe = request.cqe;
  request.cqe_due = true;
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
      request.invalidates = true;
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
void Responder::fail_receive(InboundRequest& request, NicQueuePair& qp, CompletionStatus status) {
  if (qp.receive == 0) return;
  request.cqe_due = true;
  request.cqe.opcode = abi::CqeOpcode::kResponseError;
  request.cqe.status = status;
  request.cqe.qpn = qp.qpn;
  request.cqe.wqe_counter = receives_.at(qp.receive).counter;
  receives_.drop(qp.receive);
}

/// NAK, and the queue pair is in error (IBTA 9.9.3, class C).
void Responder::refuse(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context,
                       NakCode code) {
  request.verdict = Verdict::kNak;
  request.ack_psn = request.packet->bth.psn;
  request.aeth = Aeth::nak(context.msn, code);
  request.fault = request.check.fault;
  probe(std::max(request.ready, w_.scheduler.now()), ProbeKind::kKeyChecked,
        request.packet->work_request, request.packet->id,
        static_cast<std::uint64_t>(request.key_since.ps()),
        static_cast<std::uint64_t>(request.fault));
  completer_->enter_error(qp, context,
                          code == NakCode::kRemoteAccessError
                              ? CompletionStatus::kLocalAccessError
                              : CompletionStatus::kRemoteInvalidRequest);
}

/// An unreliable connection loses messages silently (IBTA 9.8.2): a gap ends the present one, and
/// the next begins with a first packet.
bool Responder::judge_unreliable(InboundRequest& request, NicQueuePair& qp,
                                 abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  request.verdict = Verdict::kDrop;
  if (!request.check_begun) {
    if (packet.bth.psn != context.expected_psn) {
      ++out_of_sequence_;
      context.expected_psn = packet.bth.psn;
      qp.receiving = false;
    }
    const bool usable = is_defined(WireTransport::kUc, opcode) && well_formed(packet, qp, context);
    const auto taken = usable ? claim(request, qp, context) : ReceiveQueues::Taken::kEmpty;
    if (taken == ReceiveQueues::Taken::kWait) return false;
    if (taken == ReceiveQueues::Taken::kEmpty || (is_send(opcode) && !fits_receive(packet, qp))) {
      ++context.expected_psn;
      w_.contexts.mark_dirty(qp.qpn.value());
      qp.receiving = false;
      return true;
    }
  }
  if (!judge_key(request, qp, context)) return false;
  if (request.check.state == KeyCheck::State::kNak) {
    ++context.expected_psn;
    w_.contexts.mark_dirty(qp.qpn.value());
    qp.receiving = false;
    return true;
  }
  request.verdict = Verdict::kTake;
  accept(request, qp, context);
  return true;
}

/// A datagram (IBTA 9.8.3): qkey, a receive with room for GRH and payload; else it is dropped.
bool Responder::judge_datagram(InboundRequest& request, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *request.packet;
  const std::uint64_t length = packet.payload_length.count();
  if (!is_defined(WireTransport::kUd, packet.bth.opcode) || packet.deth.q_key != context.qkey ||
      length > context.path_mtu())
    return true;
  const auto taken = claim(request, qp, context);
  if (taken == ReceiveQueues::Taken::kWait) return false;
  if (taken == ReceiveQueues::Taken::kEmpty) return true;
  if (length + kGrhBytes > receives_.at(qp.receive).capacity) {
    fail_receive(request, qp, CompletionStatus::kLocalLengthError);
    return true;
  }
  request.verdict = Verdict::kTake;
  request.receive = receives_.share(qp.receive);
  qp.received = length + kGrhBytes;
  ++messages_;
  owe_completion(request, qp, context);
  request.cqe.source_qpn = packet.deth.source_qp;
  request.cqe.flags |= abi::Cqe::kGrh;
  return true;
}

/// Judged: what it has to move goes to the DMA engine.
void Responder::hand_over(InboundRequest& request) {
  const Packet& packet = *request.packet;
  const Opcode opcode = packet.bth.opcode;
  KeyCheck& check = request.check;
  DmaEngine::Job job;
  job.packet = request.packet;
  job.id = packet.work_request;
  if (request.check_begun)
    request.ready = w_.clock.after(std::max({request.ready, check.not_before, w_.scheduler.now()}),
                                   std::exchange(check.cycles, Cycles(0)));
  job.ready = request.ready;
  const bool inlined = (request.cqe.flags & abi::Cqe::kInlineData) != 0;
  if (request.verdict == Verdict::kTake && request.receive != 0) {
    const bool datagram = packet.bth.transport == WireTransport::kUd;
    job.prefix = datagram ? kGrhBytes : 0;
    job.bytes =
        inlined ? 0 : job.prefix + static_cast<std::uint32_t>(packet.payload_length.count());
    job.message = request.receive;
    job.offset = request.offset;
    job.check.pd = w_.contexts.peek(packet.bth.dest_qp.value())->pd;
  } else if (request.verdict == Verdict::kTake || request.verdict == Verdict::kAtomic) {
    job.bytes = check.state == KeyCheck::State::kPass ? 0 : check.length;
    if (begins(opcode))
      probe(request.ready, ProbeKind::kKeyChecked, packet.work_request, packet.id,
            static_cast<std::uint64_t>(request.key_since.ps()), 0);
    request.key_since = request.ready;
    job.check = check;
    job.check.not_before = request.ready;
    job.check_set = true;
  } else if (request.verdict == Verdict::kRead) {
    probe(std::max(request.ready, w_.scheduler.now()), ProbeKind::kKeyChecked, packet.work_request,
          packet.id, static_cast<std::uint64_t>(request.key_since.ps()), 0);
  }
  dma_.add(std::move(job));
}

void Responder::begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) {
  const Receive& receive = receives_.at(job.message);
  DmaEngine::aim(check, receive.segments.data(), job.offset + moved, job.bytes - moved);
  check.needs = AccessFlags::kLocalWrite;
}

bool Responder::may_move(std::uint64_t sequence, DmaEngine::Job&) {
  InboundRequest& request = this->request(sequence);
  if (!w_.qps.at(request.qpn()).receive_failed) return true;
  cancel(request);
  return false;
}

/// Judged before the request ahead of it was refused: it is not carried out.
void Responder::cancel(InboundRequest& request) {
  if (request.verdict == Verdict::kAtomic && !request.executed) --atomics_claimed_;
  request.verdict = Verdict::kDrop;
  if (!request.cqe_due) return;
  // The end of a message of which an earlier packet could not be written tells why.
  const NicQueuePair& qp = w_.qps.at(request.qpn());
  const bool same = request.receive != 0 && request.receive == qp.failed_receive;
  request.cqe.opcode = abi::CqeOpcode::kResponseError;
  request.cqe.status = same ? CompletionStatus::kLocalProtectionError : CompletionStatus::kFlushed;
}

bool Responder::take_over(std::uint64_t sequence, DmaEngine::Job& job) {
  InboundRequest& request = this->request(sequence);
  if (request.verdict != Verdict::kAtomic) return false;
  const Packet& packet = *request.packet;
  AtomicUnit::Operation operation;
  operation.kind = packet.bth.opcode == Opcode::kCompareSwap ? AtomicUnit::Kind::kCompareSwap
                                                             : AtomicUnit::Kind::kFetchAdd;
  operation.address = job.check.pieces[0].address;
  operation.swap_or_add = packet.atomic.swap_or_add;
  operation.compare = packet.atomic.compare;
  operation.work_request = packet.work_request;
  request.ticket = w_.atomics.submit(operation, call<&Responder::executed>(this, sequence));
  return true;
}

void Responder::executed(std::uint64_t sequence) {
  InboundRequest& request = this->request(sequence);
  request.original = w_.atomics.original(request.ticket);
  request.executed = true;
  --atomics_claimed_;
  w_.atomics.release(request.ticket);
  NicQueuePair& qp = w_.qps.at(request.qpn());
  for (std::size_t i = 0; i < qp.atomics.size(); ++i)
    if (qp.atomics.at(i).psn == request.packet->bth.psn)
      qp.atomics.at(i) = {request.ack_psn, request.original, true};
  dma_.finished(sequence);
  pump();
}

/// The key was invalidated after the message began, its table lacks the page, or a receive's memory
/// may not be written.
void Responder::refused(std::uint64_t sequence, DmaEngine::Job&, KeyFault fault) {
  InboundRequest& request = this->request(sequence);
  request.refused_late = true;
  request.fault = fault;
  if (request.verdict == Verdict::kAtomic) --atomics_claimed_;
  NicQueuePair& qp = w_.qps.at(request.qpn());
  qp.receive_failed = true;
  qp.receive_failed_at = sequence;
  qp.failed_receive = request.receive;
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
  InboundRequest& front = requests_.front();
  if ((front.verdict == Verdict::kTake || front.verdict == Verdict::kRead) && !front.refused_late) {
    const NicQueuePair& qp = w_.qps.at(front.qpn());
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
  requests_.pop();
  return true;
}

/// A SEND that takes a key away from the queue pair is under way.
bool Responder::waits_for_key(const InboundRequest& next) {
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (requests_.at(i).invalidates && requests_.at(i).qpn() == next.qpn()) return true;
  return false;
}

/// The SEND's data are there: its key goes, before its receive completes. False: not yet.
bool Responder::invalidate(InboundRequest& request) {
  if (request.invalidating) return false;
  if (request.verdict != Verdict::kTake) {
    request.invalidates = false;
    --invalidating_;
    return true;
  }
  const Qpn qpn = request.qpn();
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  request.invalidating = true;
  KeyOperations::Operation operation;
  operation.kind = KeyOperations::Kind::kRemoteInvalidate;
  operation.key = request.packet->ieth.r_key;
  operation.pd = context->pd;
  operation.qpn = qpn;
  operation.work_request = request.packet->work_request;
  w_.key_operations.submit(operation, call<&Responder::invalidated>(this));
  return false;
}

/// The oldest packet's key has gone, or may not.
void Responder::invalidated() {
  InboundRequest& front = requests_.front();
  front.invalidates = front.invalidating = false;
  --invalidating_;
  front.class_j = w_.key_operations.fault() != KeyOperations::Fault::kNone;
  dma_.drain();
  pump();
}

/// False: the context has to be fetched first.
bool Responder::fail_invalidation(InboundRequest& request) {
  const Qpn qpn = request.qpn();
  abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  request.class_j = false;
  request.cqe.opcode = abi::CqeOpcode::kResponseError;
  request.cqe.status = CompletionStatus::kRemoteInvalidRequest;
  if (receives(context->state))
    completer_->enter_error(w_.qps.at(qpn), *context, CompletionStatus::kRemoteInvalidRequest);
  return true;
}

/// False: the context has to be fetched first.
bool Responder::refuse_late(InboundRequest& request) {
  const Qpn qpn = request.qpn();
  abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
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
    fail_receive(request, qp, CompletionStatus::kLocalProtectionError);
  if (!reliable) {
    completer_->enter_error(qp, *context, CompletionStatus::kLocalProtectionError);
    return true;
  }
  request.check.fault = request.fault;
  const NakCode code = local ? NakCode::kRemoteOperationalError : NakCode::kRemoteAccessError;
  refuse(request, qp, *context, code);
  request.aeth = Aeth::nak(msn, code);
  return true;
}

/// False: the CQE writer is full, or the context has to be fetched first.
bool Responder::write_completion(InboundRequest& request) {
  const Qpn qpn = request.qpn();
  if (!w_.cqe_writer.has_room()) {
    if (!waits_for_writer_) writer_since_ = w_.scheduler.now();
    waits_for_writer_ = true;
    return false;
  }
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  request.cqe_due = false;
  w_.cqe_writer.write(context->receive_cqn, request.cqe, request.packet->work_request,
                      w_.scheduler.now());
  return true;
}

/// False: the port's queue is full, or the context has to be fetched first.
bool Responder::answer(InboundRequest& request) {
  const bool acknowledges = request.verdict == Verdict::kTake && request.packet->bth.ack_req &&
                            request.packet->bth.transport == WireTransport::kRc;
  if (request.verdict == Verdict::kDrop || (request.verdict == Verdict::kTake && !acknowledges))
    return true;
  if (acknowledges && is_coalesced(request)) {
    ++coalesced_;
    return true;
  }
  const Qpn qpn = request.qpn();
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), call<&Responder::drain>(this));
  if (context == nullptr) return false;
  NicQueuePair& qp = w_.qps.at(qpn);
  if (request.verdict != Verdict::kRead && request.verdict != Verdict::kAtomic &&
      request.verdict != Verdict::kAgain)
    return send_acknowledge(request, qp, *context);
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
  if (request.again) forget_answers(qp, owed.psn);
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
bool Responder::is_coalesced(const InboundRequest& request) {
  if (requests_.size() < 2 || dma_.size() < 2 || !dma_.is_through(dma_.first() + 1)) return false;
  const InboundRequest& next = requests_.at(1);
  return next.verdict == Verdict::kTake && !next.refused_late && next.packet->bth.ack_req &&
         next.qpn() == request.qpn();
}

bool Responder::send_acknowledge(InboundRequest& request, NicQueuePair& qp,
                                 const abi::QpContext& context) {
  const bool in_order = qp.owed.empty() && qp.answers_under_way == 0;
  if (in_order && !w_.mac_tx.has_room(MacTx::Queue::kResponse)) {
    if (!waits_for_port_) port_since_ = w_.scheduler.now();
    waits_for_port_ = true;
    return false;
  }
  if (request.aeth.is_ack()) ++acks_;
  if (request.aeth.is_nak()) ++naks_;
  if (request.aeth.is_rnr_nak()) ++rnr_naks_;
  const Time ready = ack_pipeline_.enter(w_.scheduler.now());
  probe(ready, ProbeKind::kAckSent, request.packet->work_request, request.packet->id,
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
  PacketRef ack = w_.port.make(context, Opcode::kAcknowledge, request.ack_psn);
  ack->aeth = request.aeth;
  ack->work_request = request.packet->work_request;
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
  flushing_.push({&qp, dma_.first() + requests_.size() + arrivals_.size()});
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
  scope.count("requests", received_, "request packets received");
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
  scope.count("occupancy.max", most_inside_, "most packets between parser and acknowledgement");
}

}  // namespace rnicsim
