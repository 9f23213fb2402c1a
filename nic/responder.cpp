// SPDX-License-Identifier: MIT
#include "nic/responder.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"

namespace rnicsim {

namespace {

/// States in which requests are taken (IBTA 10.3.1; draining concerns the send queue only).
bool receives(QpState state) {
  return state == QpState::kRtr || state == QpState::kRts || state == QpState::kSqd;
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
      ack_pipeline_(wiring.clock, config.ack_pipeline) {}

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
  while (judged_ < first_ + slots_.size()) {
    if (judged_ - first_ >= config_.window) {
      if (waits_since_ == Time::never()) waits_since_ = w_.scheduler.now();
      break;
    }
    if (waits_since_ != Time::never()) {
      stalled_window_ += w_.scheduler.now() - waits_since_;
      waits_since_ = Time::never();
    }
    Slot& next = slot(judged_);
    if (!next.entered) {
      next.ready = context_port_.enter(pipeline_.enter(std::max(next.ready, w_.scheduler.now())));
      next.entered = true;
    }
    if (!judge(next)) break;
    const std::uint64_t sequence = judged_++;
    if (next.verdict == Verdict::kWrite)
      translate(sequence);
    else
      next.translated = true;
  }
  schedule_issues();
  pumping_ = false;
}

/// False: an entry has to be fetched first.
bool Responder::judge(Slot& slot) {
  const Qpn qpn = slot.packet->bth.dest_qp;
  if (!w_.contexts.in_range(qpn.value())) {
    slot.verdict = Verdict::kDrop;
    return true;
  }
  abi::QpContext* context =
      w_.contexts.lookup(qpn.value(), call<&Responder::pump>(this), slot.packet->work_request);
  if (context == nullptr) return false;
  if (!receives(context->state)) {
    slot.verdict = Verdict::kDrop;
    return true;
  }
  NicQueuePair& qp = w_.qps.at(qpn);
  if (!judge_sequence(slot, qp, *context) || !judge_opcode(slot, qp, *context)) return true;
  if (!judge_key(slot, qp, *context)) return false;
  if (slot.check.state == KeyCheck::State::kNak)
    refuse(slot, qp, *context, NakCode::kRemoteAccessError);
  else
    accept(slot, qp, *context);
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
    ++duplicates_;
    slot.verdict = Verdict::kAcknowledge;
    slot.ack_psn = context.expected_psn + Psn::kMask;  // the last one received: expected - 1
    slot.aeth = Aeth::ack(context.msn);
    return false;
  }
  ++out_of_sequence_;
  slot.verdict = qp.nak_sent ? Verdict::kDrop : Verdict::kNak;
  slot.ack_psn = context.expected_psn;
  slot.aeth = Aeth::nak(context.msn, NakCode::kPsnSequenceError);
  qp.nak_sent = true;
  return false;
}

/// Opcode sequence and lengths (IBTA 9.7.4.1.3, 9.7.4.1.6). False: refused.
bool Responder::judge_opcode(Slot& slot, NicQueuePair& qp, abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  const RcOpcode opcode = packet.bth.opcode;
  const bool in_place = starts_message(opcode) != qp.receiving;
  const bool known = is_write(opcode) && !has_immediate(opcode);
  if (known && in_place && judge_length(packet, qp, context.path_mtu())) return true;
  refuse(slot, qp, context, NakCode::kInvalidRequest);
  return false;
}

bool Responder::judge_length(const Packet& packet, const NicQueuePair& qp,
                             std::uint32_t mtu) const {
  const std::uint64_t length = packet.payload_length.count();
  const std::uint64_t left =
      starts_message(packet.bth.opcode) ? packet.reth.dma_length : qp.receive_left;
  return ends_message(packet.bth.opcode) ? length == left && length <= mtu
                                         : length == mtu && length < left;
}

/// The rkey over the whole message at its first packet; later packets only translate. False: an
/// entry has to be fetched first.
bool Responder::judge_key(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  if (!slot.check_begun) begin_check(slot, qp, context);
  // A zero-length request touches no memory and is not checked (IBTA 9.7.4.1.5).
  if (starts_message(packet.bth.opcode) && packet.reth.dma_length == 0) {
    slot.check.state = KeyCheck::State::kPass;
    return true;
  }
  return w_.key_checker.run(slot.check, KeyCheck::State::kTranslate, call<&Responder::pump>(this));
}

void Responder::begin_check(Slot& slot, const NicQueuePair& qp, const abi::QpContext& context) {
  const Packet& packet = *slot.packet;
  KeyCheck& check = slot.check;
  slot.check_begun = true;
  check.not_before = w_.key_checker.enter(slot.ready);
  slot.key_since = slot.ready;
  check.work_request = packet.work_request;
  check.length = static_cast<std::uint32_t>(packet.payload_length.count());
  check.pd = context.pd;
  if (starts_message(packet.bth.opcode)) {
    check.key = packet.reth.r_key;
    check.region_address = packet.reth.virtual_address;
    check.region_length = packet.reth.dma_length;
    check.needs = AccessFlags::kRemoteWrite;
    check.qp_allows = context.access.allows(AccessFlags::kRemoteWrite);
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
  slot.verdict = Verdict::kWrite;
  if (starts_message(packet.bth.opcode)) {
    qp.receive_key = packet.reth.r_key;
    qp.receive_address = packet.reth.virtual_address;
    qp.receive_left = packet.reth.dma_length;
  }
  slot.address = qp.receive_address;
  qp.receive_address = VirtualAddress(qp.receive_address.value() + packet.payload_length.count());
  qp.receive_left -= packet.payload_length.count();
  qp.receiving = !ends_message(packet.bth.opcode);
  ++context.expected_psn;
  if (!qp.receiving) {
    context.msn = (context.msn + 1) & Psn::kMask;
    ++messages_;
  }
  w_.contexts.mark_dirty(qp.qpn.value());
  slot.ack_psn = packet.bth.psn;
  slot.aeth = Aeth::ack(context.msn);
}

/// NAK, and the queue pair is in error (IBTA 9.9.3, class C).
void Responder::refuse(Slot& slot, NicQueuePair& qp, abi::QpContext& context, NakCode code) {
  slot.verdict = Verdict::kNak;
  slot.ack_psn = slot.packet->bth.psn;
  slot.aeth = Aeth::nak(context.msn, code);
  probe(slot.ready, ProbeKind::kKeyChecked, slot.packet->work_request, slot.packet->id,
        static_cast<std::uint64_t>(slot.key_since.ps()),
        static_cast<std::uint64_t>(slot.check.fault));
  completer_->enter_error(qp, context,
                          code == NakCode::kRemoteAccessError
                              ? CompletionStatus::kLocalAccessError
                              : CompletionStatus::kRemoteInvalidRequest);
}

/// Finds the packet's place in host memory; its writes are issued in order afterwards.
void Responder::translate(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  KeyCheck& check = slot.check;
  const Packet& packet = *slot.packet;
  if (!slot.key_reported) {
    slot.key_reported = true;
    slot.ready = w_.clock.after(std::max({slot.ready, check.not_before, w_.scheduler.now()}),
                                std::exchange(check.cycles, Cycles(0)));
    if (starts_message(packet.bth.opcode))
      probe(slot.ready, ProbeKind::kKeyChecked, packet.work_request, packet.id,
            static_cast<std::uint64_t>(slot.key_since.ps()), 0);
    slot.key_since = slot.ready;
  }
  if (!w_.key_checker.run(check, KeyCheck::State::kPass,
                          call<&Responder::translate>(this, sequence)))
    return;
  slot.ready = w_.clock.after(std::max(slot.ready, w_.scheduler.now()),
                              std::exchange(check.cycles, Cycles(0)));
  if (check.state == KeyCheck::State::kPass)
    probe(slot.ready, ProbeKind::kTranslated, packet.work_request, packet.id,
          static_cast<std::uint64_t>(slot.key_since.ps()), check.missed ? 1 : 0);
  else if (!refuse_late(slot, sequence))
    return;
  slot.translated = true;
  if (!pumping_) schedule_issues();
}

/// The key was invalidated after the message began, or its table lacks the page. False: the context
/// has to be fetched first.
bool Responder::refuse_late(Slot& slot, std::uint64_t sequence) {
  const Qpn qpn = slot.packet->bth.dest_qp;
  abi::QpContext* context =
      w_.contexts.lookup(qpn.value(), call<&Responder::translate>(this, sequence));
  if (context == nullptr) return false;
  slot.verdict = Verdict::kDrop;
  if (receives(context->state)) {
    // What was accepted behind it meanwhile is not complete: the NAK counts what came before.
    const std::uint32_t own = ends_message(slot.packet->bth.opcode) ? 1 : 0;
    const std::uint32_t msn = slot.aeth.msn - own;
    refuse(slot, w_.qps.at(qpn), *context, NakCode::kRemoteAccessError);
    slot.aeth = Aeth::nak(msn, NakCode::kRemoteAccessError);
  }
  return true;
}

void Responder::schedule_issues() {
  while (scheduled_ < judged_ && slot(scheduled_).translated) {
    last_issue_ = std::max({last_issue_, slot(scheduled_).ready, w_.scheduler.now()});
    w_.scheduler.at(last_issue_, call<&Responder::issue>(this, scheduled_));
    ++scheduled_;
  }
}

void Responder::issue(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  const Packet& packet = *slot.packet;
  NicQueuePair& qp = w_.qps.at(packet.bth.dest_qp);
  slot.write_since = w_.scheduler.now();
  if (slot.verdict == Verdict::kNak && slot.aeth.nak_code() != NakCode::kPsnSequenceError)
    qp.receive_failed = true;
  else if (slot.verdict == Verdict::kWrite && qp.receive_failed)
    slot.verdict = Verdict::kDrop;  // judged before the request ahead of it was refused
  if (slot.verdict != Verdict::kWrite || slot.check.piece_count == 0) {
    slot.done = true;
    retire();
    return;
  }
  probe(slot.write_since, ProbeKind::kPayloadWriteStart, packet.work_request, packet.id,
        slot.address.value(), packet.payload_length.count());
  slot.writing = slot.check.piece_count;
  written_ += packet.payload_length;
  const std::array<KeyCheck::Piece, 2> pieces = slot.check.pieces;
  const std::uint8_t count = slot.check.piece_count;
  const PacketRef keep = slot.packet;
  std::uint8_t* data = packet.payload_elided ? nullptr : keep->payload();
  for (std::size_t i = 0; i < count; ++i) {
    DmaRequest request;
    request.write = true;
    request.engine = DmaEngineId::kPosted;
    request.purpose = DmaPurpose::kPayload;
    request.address = pieces[i].address;
    request.bytes = pieces[i].bytes;
    request.data = data;
    request.keep = keep;
    request.work_request = keep->work_request;
    request.done = call<&Responder::handed>(this, sequence);
    if (data != nullptr) data += pieces[i].bytes;
    w_.pcie.submit(std::move(request));
  }
}

void Responder::handed(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  if (--slot.writing != 0) return;
  slot.done = true;
  probe(w_.scheduler.now(), ProbeKind::kPayloadHanded, slot.packet->work_request, slot.packet->id,
        static_cast<std::uint64_t>(slot.write_since.ps()), slot.packet->payload_length.count());
  retire();
}

void Responder::retire() {
  while (!slots_.empty() && slots_.front().done) {
    const Slot& front = slots_.front();
    if (needs_response(front)) {
      if (waits_for_port()) break;
      const abi::QpContext* context =
          w_.contexts.lookup(front.packet->bth.dest_qp.value(), call<&Responder::retire>(this));
      if (context == nullptr) break;
      respond(front, *context);
    } else if (front.verdict == Verdict::kDrop) {
      ++dropped_;
    }
    w_.mac_rx.release(*front.packet);
    slots_.pop();
    ++first_;
  }
  pump();
}

bool Responder::waits_for_port() {
  if (w_.mac_tx.has_room(MacTx::Queue::kResponse)) return false;
  if (!waits_for_port_) port_since_ = w_.scheduler.now();
  return waits_for_port_ = true;
}

bool Responder::needs_response(const Slot& slot) const {
  if (slot.verdict == Verdict::kWrite) return slot.packet->bth.ack_req;
  return slot.verdict != Verdict::kDrop;
}

void Responder::respond(const Slot& slot, const abi::QpContext& context) {
  PacketRef ack = w_.port.make(context, RcOpcode::kAcknowledge, slot.ack_psn);
  ack->aeth = slot.aeth;
  ack->work_request = slot.packet->work_request;
  ++(slot.aeth.is_ack() ? acks_ : naks_);
  const Time ready = ack_pipeline_.enter(w_.scheduler.now());
  probe(ready, ProbeKind::kAckSent, ack->work_request, ack->id, slot.ack_psn.value(),
        slot.aeth.syndrome);
  w_.mac_tx.enqueue(std::move(ack), ready, MacTx::Queue::kResponse);
}

void Responder::report(const MetricScope& scope) const {
  scope.count("requests", requests_, "request packets received");
  scope.count("messages", messages_, "messages received whole");
  scope.bytes("payload_bytes", written_, "payload bytes written to host memory");
  scope.count("acks", acks_, "acknowledgements sent");
  scope.count("naks", naks_, "negative acknowledgements sent");
  scope.count("duplicate_request", duplicates_, "requests received again");
  scope.count("out_of_sequence", out_of_sequence_, "requests whose PSN was ahead");
  scope.count("dropped", dropped_, "requests of queue pairs that may not receive");
  scope.time("busy", pipeline_.busy(), "time the responder's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "packets waited for the pipeline");
  scope.time("stalled.window", stalled_window_, "time in which packets waited for the window");
  scope.time("stalled.port", stalled_port_,
             "time in which an acknowledgement waited for the port's response queue");
  scope.count("occupancy.max", most_slots_, "most packets between parser and acknowledgement");
}

}  // namespace rnicsim
