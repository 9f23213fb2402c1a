// SPDX-License-Identifier: MIT
#include "nic/requester.h"

#include <algorithm>

#include "nic/completer.h"
#include "nic/wqe_fetch.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kMaxMessageBytes = 1ULL << 31;  // IBTA 9.7.2
constexpr std::uint32_t kPrefetchMask = NicQueuePair::kPrefetchBlocks * abi::kWqeBlockBytes - 1;

RcOpcode write_opcode(bool first, bool last) {
  if (first) return last ? RcOpcode::kWriteOnly : RcOpcode::kWriteFirst;
  return last ? RcOpcode::kWriteLast : RcOpcode::kWriteMiddle;
}

/// The data segment that byte `offset` of the message lies in, and where in it.
struct InSegment {
  const abi::DataSegment& segment;
  std::uint32_t offset;
};
InSegment find_segment(const SendWqe& wqe, std::uint64_t offset) {
  std::size_t i = 0;
  while (offset >= wqe.segments[i].byte_count) offset -= wqe.segments[i++].byte_count;
  return {wqe.segments[i], static_cast<std::uint32_t>(offset)};
}

}  // namespace

void RequesterConfig::describe(Fields& fields) {
  fields.object("pipeline", pipeline, "from a queue pair's turn to its payload read");
  fields.object("header_pipeline", header_pipeline, "from the payload's arrival to the port");
  fields.field("wqe_interval", wqe_interval, range(Time(), Time::ms(1)),
               "least time between the starts of two WQEs of one queue pair");
  fields.field("transmit_buffer", transmit_buffer, range(Bytes(8192), Bytes(1 << 26)),
               "payload bytes between their turn and the wire");
  fields.field("ack_request_interval", ack_request_interval, range(1, 1 << 20),
               "packets of a message after which an acknowledgement is asked for");
}

Requester::Requester(const Wiring& wiring, const RequesterConfig& config)
    : w_(wiring),
      config_(config),
      pipeline_(wiring.clock, config.pipeline),
      context_port_(wiring.contexts.add_port(wiring.clock)),
      header_pipeline_(wiring.clock, config.header_pipeline),
      tx_scheduler_(wiring.scheduler, wiring.qps, call<&Requester::kick>(this)) {}

void Requester::ready(NicQueuePair& qp) { wait_for_turn(qp, w_.scheduler.now()); }

/// `since`: when the queue pair could have entered the pipeline.
void Requester::wait_for_turn(NicQueuePair& qp, Time since) {
  if (qp.queued || qp.send_stopped || !qp.has_wqe_to_send()) return;
  qp.queued = true;
  if (!qp.started) since = std::max({since, qp.next_wqe_at, qp.wqe(qp.sending).decoded});
  tx_scheduler_.add(qp, since);
}

/// Arms the next turn if there is somebody to serve and room for a packet. A turn is decided when
/// it leaves the pipeline, for whoever was ready when it entered: turns follow at the interval.
void Requester::kick() {
  if (turn_armed_ || tx_scheduler_.empty()) return;
  if (!has_room()) {
    if (stalled_since_ == Time::never()) stalled_since_ = w_.scheduler.now();
    return;
  }
  if (stalled_since_ != Time::never()) {
    stalled_buffer_ += w_.scheduler.now() - stalled_since_;
    stalled_since_ = Time::never();
    room_since_ = w_.scheduler.now();
  }
  turn_armed_ = true;
  const Time ready = std::max(tx_scheduler_.ready_since(), room_since_);
  entered_ = pipeline_.next_entry(ready);
  w_.scheduler.at(context_port_.enter(pipeline_.enter(ready)), call<&Requester::turn>(this));
}

void Requester::turn() {
  turn_armed_ = false;
  if (tx_scheduler_.empty()) return;
  NicQueuePair& qp = tx_scheduler_.take();
  const Qpn qpn = qp.qpn;
  abi::QpContext* context =
      w_.contexts.lookup(qpn.value(), call<&Requester::retry_turn>(this, qpn.value()));
  if (context != nullptr) serve(qp, *context);
  kick();
}

/// The turn of a queue pair whose context is at hand.
void Requester::serve(NicQueuePair& qp, abi::QpContext& context) {
  qp.queued = false;
  // A draining send queue ends the message it is in and begins no other.
  const bool may_send =
      context.state == QpState::kRts || (context.state == QpState::kSqd && qp.started);
  if (!may_send || qp.send_stopped || !qp.has_wqe_to_send()) return;
  make_packet(qp, context);
  wait_for_turn(qp, entered_);
}

/// The context has been fetched. It is used at once: by the next turn a cache smaller than the
/// number of busy queue pairs would have lost it again, and nobody would ever send.
void Requester::retry_turn(std::uint64_t number) {
  const Qpn qpn(static_cast<std::uint32_t>(number));
  NicQueuePair& qp = w_.qps.at(qpn);
  abi::QpContext* context = w_.contexts.peek(qpn.value());
  if (context == nullptr || !has_room()) {
    tx_scheduler_.add(qp, w_.scheduler.now());
    return;
  }
  entered_ = w_.scheduler.now();
  serve(qp, *context);
}

/// Judges a WQE at its first packet. False: it failed at home.
bool Requester::start_message(NicQueuePair& qp, const SendWqe& wqe) {
  CompletionStatus status = CompletionStatus::kSuccess;
  if (wqe.malformed || wqe.opcode != abi::WqeOpcode::kRdmaWrite)
    status = CompletionStatus::kLocalQpOperationError;
  else if (wqe.length > kMaxMessageBytes)
    status = CompletionStatus::kLocalLengthError;
  qp.next_wqe_at = entered_ + config_.wqe_interval;
  if (status == CompletionStatus::kSuccess) return true;
  qp.send_stopped = true;
  // Packets of earlier messages may still stand in the window: the failure waits its turn there.
  Slot& slot = window_.push(Slot{});
  slot.qp = &qp;
  slot.epoch = qp.epoch;
  slot.id = wqe.id;
  slot.failed = status;
  drain_window();
  return false;
}

void Requester::make_packet(NicQueuePair& qp, abi::QpContext& context) {
  SendWqe& wqe = qp.wqe(qp.sending);
  if (!qp.started && !start_message(qp, wqe)) return;
  const auto length = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(context.path_mtu(), wqe.length - qp.offset));
  const std::uint64_t sequence = first_ + window_.size();
  Slot& slot = window_.push(Slot{});
  slot.packet = build(qp, context, wqe, length);
  slot.qp = &qp;
  slot.epoch = qp.epoch;
  slot.wqe = qp.sending;
  slot.id = wqe.id;
  slot.length = length;
  slot.offset = qp.offset;
  slot.made = w_.scheduler.now();
  slot.check.pd = context.pd;
  slot.stage = Stage::kNew;
  ++wqe.gathering;
  buffered_ += Bytes(length);
  most_buffered_ = std::max(most_buffered_, buffered_);
  qp.started = true;
  qp.offset += length;
  const Psn psn = slot.packet->bth.psn;
  if (qp.offset == wqe.length) finish_wqe(qp, wqe, psn);
  advance(sequence);
}

PacketRef Requester::build(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe,
                           std::uint32_t length) {
  const bool first = qp.offset == 0;
  const bool last = qp.offset + length == wqe.length;
  PacketRef packet = w_.port.make(context, write_opcode(first, last), context.next_send_psn);
  ++context.next_send_psn;
  w_.contexts.mark_dirty(qp.qpn.value());
  packet->work_request = wqe.id;
  packet->payload_elided = w_.elided;
  packet->set_payload_length(Bytes(length));
  packet->bth.ack_req = last || ++qp.since_ack_request == config_.ack_request_interval;
  if (packet->bth.ack_req) qp.since_ack_request = 0;
  if (first) {
    packet->reth.virtual_address = wqe.remote.address;
    packet->reth.r_key = wqe.remote.rkey;
    packet->reth.dma_length = static_cast<std::uint32_t>(wqe.length);
  }
  ++packets_;
  return packet;
}

/// The WQE is wholly cut into packets: it now waits for its acknowledgement.
void Requester::finish_wqe(NicQueuePair& qp, const SendWqe& wqe, Psn last_psn) {
  OutstandingMessage message;
  message.last_psn = last_psn;
  message.wqe_index = wqe.block;
  message.opcode = wqe.opcode;
  message.signaled = wqe.signaled;
  message.bytes = static_cast<std::uint32_t>(wqe.length);
  message.id = wqe.id;
  qp.outstanding.push(message);
  ++qp.sending;
  qp.offset = 0;
  qp.started = false;
  ++messages_;
}

void Requester::copy_inline(NicQueuePair& qp, const SendWqe& wqe, Slot& slot) {
  if (w_.elided) return;
  const std::uint64_t start =
      std::uint64_t{wqe.block} * abi::kWqeBlockBytes + wqe.inline_at + slot.offset;
  std::uint8_t* to = slot.packet->payload();
  for (std::uint32_t i = 0; i < slot.length; ++i) to[i] = qp.prefetch[(start + i) & kPrefetchMask];
}

/// Sets up the check of the slot's next part: as much of it as lies in one data segment.
void Requester::begin_check(Slot& slot, const SendWqe& wqe) {
  const InSegment at = find_segment(wqe, slot.offset + slot.gathered);
  KeyCheck& check = slot.check;
  const PdNumber pd = check.pd;
  check = KeyCheck{};
  check.pd = pd;
  check.not_before = w_.key_checker.enter(w_.scheduler.now());
  check.key = at.segment.lkey;
  check.state = at.offset == 0 ? KeyCheck::State::kKeyLookup : KeyCheck::State::kTranslate;
  check.region_address = at.segment.address;
  check.region_length = at.segment.byte_count;
  check.address = VirtualAddress(at.segment.address.value() + at.offset);
  check.length = std::min(slot.length - slot.gathered, at.segment.byte_count - at.offset);
  check.work_request = slot.id;
}

/// Moves a packet's gathering on: checks and translates the next part; its reads follow in order.
void Requester::advance(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  if (slot.is_void()) {
    set_gathered(slot);
    return;
  }
  const SendWqe& wqe = slot.qp->wqe(slot.wqe);
  if (wqe.inline_bytes != 0 && slot.gathered != slot.length) {
    copy_inline(*slot.qp, wqe, slot);
    slot.gathered = slot.length;
  }
  if (slot.gathered == slot.length) {
    set_gathered(slot);
    return;
  }
  if (slot.stage != Stage::kChecking) {
    begin_check(slot, wqe);
    slot.stage = Stage::kChecking;
  }
  if (!w_.key_checker.run(slot.check, KeyCheck::State::kPass,
                          call<&Requester::advance>(this, sequence)))
    return;
  slot.ready =
      w_.clock.after(std::max(slot.check.not_before, w_.scheduler.now()), slot.check.cycles);
  slot.stage = Stage::kChecked;
  issue_in_order();
}

/// Arms the reads of the oldest packet that has any to issue, once its look-ups are done.
void Requester::issue_in_order() {
  issuing_ = std::max(issuing_, first_);
  while (issuing_ < first_ + window_.size() && slot(issuing_).stage == Stage::kGathered) ++issuing_;
  if (issuing_ == first_ + window_.size()) return;
  Slot& next = slot(issuing_);
  if (next.stage != Stage::kChecked) return;
  next.stage = Stage::kIssuing;
  last_issue_ = std::max({last_issue_, next.ready, w_.scheduler.now()});
  w_.scheduler.at(last_issue_, call<&Requester::issue_reads>(this, issuing_));
}

void Requester::issue_reads(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  if (!slot.is_void() && slot.check.state == KeyCheck::State::kNak) {
    slot.failed = CompletionStatus::kLocalProtectionError;
    slot.qp->send_stopped = true;
    set_gathered(slot);
    return;
  }
  if (!slot.is_void()) read_part(slot, sequence);
  advance(sequence);
}

/// A memory without latency answers within submit; the slot stays, as it is not kGathered yet.
void Requester::read_part(Slot& slot, std::uint64_t sequence) {
  const KeyCheck& check = slot.check;
  const Time now = w_.scheduler.now();
  if (slot.gathered == 0) slot.read_since = now;
  probe(now, ProbeKind::kTranslated, slot.id, slot.packet->id,
        static_cast<std::uint64_t>(slot.made.ps()), check.missed ? 1 : 0);
  probe(now, ProbeKind::kPayloadReadStart, slot.id, slot.packet->id, slot.offset + slot.gathered,
        check.length);
  for (std::size_t i = 0; i < check.piece_count; ++i) {
    DmaRequest request;
    request.engine = DmaEngineId::kPayloadRead;
    request.purpose = DmaPurpose::kPayload;
    request.address = check.pieces[i].address;
    request.bytes = check.pieces[i].bytes;
    if (!w_.elided) request.data = slot.packet->payload() + slot.gathered;
    request.keep = slot.packet;
    request.work_request = slot.id;
    request.done = call<&Requester::payload_read>(this, sequence);
    slot.gathered += request.bytes;
    ++slot.reading;
    w_.pcie.submit(std::move(request));
  }
}

/// All reads of a packet have been issued (or it needs none, failed, or is void).
void Requester::set_gathered(Slot& slot) {
  slot.stage = Stage::kGathered;
  if (!slot.is_void() && slot.failed == CompletionStatus::kSuccess) {
    NicQueuePair& qp = *slot.qp;
    --qp.wqe(slot.wqe).gathering;
    qp.retire_wqes();
    wqe_fetch_->resume(qp.qpn);
  }
  issue_in_order();
  drain_window();
}

void Requester::payload_read(std::uint64_t sequence) {
  Slot& slot = this->slot(sequence);
  if (--slot.reading != 0) return;
  if (slot.gathered == slot.length)
    probe(w_.scheduler.now(), ProbeKind::kPayloadReadEnd, slot.id, slot.packet->id,
          static_cast<std::uint64_t>(slot.read_since.ps()), slot.length);
  drain_window();
}

/// Gives the port what is complete, in order.
void Requester::drain_window() {
  while (!window_.empty() && window_.front().complete()) {
    Slot slot = window_.take();
    ++first_;
    NicQueuePair& qp = *slot.qp;
    const bool void_packet = slot.is_void();
    if (slot.packet && (void_packet || slot.failed != CompletionStatus::kSuccess))
      packet_started(slot.packet->payload_length.count());
    if (void_packet) continue;
    if (slot.failed != CompletionStatus::kSuccess) {
      qp.void_window();
      completer_->message_failed(qp, slot.id, slot.failed);
      continue;
    }
    const Time ready = header_pipeline_.enter(w_.scheduler.now());
    w_.mac.enqueue(std::move(slot.packet), ready, MacTx::Queue::kRequest);
  }
}

void Requester::packet_started(std::uint64_t payload_bytes) {
  buffered_ -= Bytes(payload_bytes);
  kick();
}

void Requester::report(const MetricScope& scope) const {
  scope.count("messages", messages_, "messages cut into packets");
  scope.count("packets", packets_, "request packets made");
  scope.time("busy", pipeline_.busy(), "time the requester's pipeline was taken");
  scope.time("stalled.transmit_buffer", stalled_buffer_,
             "time in which work waited for transmit buffer");
  scope.time("stalled.header_pipeline", header_pipeline_.stalled(),
             "packets waited for the header pipeline");
  scope.bytes("occupancy.max", most_buffered_, "most payload bytes between turn and wire");
}

}  // namespace rnicsim
