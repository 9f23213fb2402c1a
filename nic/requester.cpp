// SPDX-License-Identifier: MIT
#include "nic/requester.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"
#include "nic/repeater.h"
#include "nic/retransmitter.h"
#include "nic/wqe_fetch.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kMaxMessageBytes = 1ULL << 31;  // IBTA 9.7.2

/// Whether the transport has the operation (IBTA table 34).
bool offers(Transport transport, abi::WqeOpcode opcode) {
  using abi::WqeOpcode;
  if (opcode == WqeOpcode::kNop) return true;
  switch (transport) {
    case Transport::kRc:
      return sends_data(opcode) || is_read(opcode) || is_atomic(opcode) || is_local(opcode);
    case Transport::kUc:
      return (sends_data(opcode) && opcode != WqeOpcode::kSendInvalidate) || is_local(opcode);
    case Transport::kUd:
      return opcode == WqeOpcode::kSend || opcode == WqeOpcode::kSendImm;
  }
  return false;
}

}  // namespace

void RequesterConfig::describe(Fields& fields) {
  fields.object("pipeline", pipeline, "from a queue pair's turn to its payload read");
  fields.object("header_pipeline", header_pipeline, "from the payload's arrival to the port");
  fields.field("wqe_interval", wqe_interval, range(Time(), Time::ms(1)),
               "least time between the starts of two WQEs of one queue pair");
  fields.field("read_interval", read_interval, range(Time(), Time::ms(1)),
               "least time that a READ request takes the pipeline, of whatever queue pair");
  fields.field("transmit_buffer", transmit_buffer, range(Bytes(8192), Bytes(1 << 26)),
               "payload bytes of a priority between their turn and the wire");
  fields.field("ack_request_interval", ack_request_interval, range(1, 1 << 20),
               "packets of a message after which an acknowledgement is asked for");
}

Requester::Requester(const Wiring& wiring, const RequesterConfig& config)
    : w_(wiring),
      config_(config),
      builder_(wiring.port, wiring.elided),
      pipeline_(wiring.clock, config.pipeline),
      context_port_(wiring.contexts.add_port(wiring.clock)),
      header_pipeline_(wiring.clock, config.header_pipeline),
      tx_scheduler_(wiring.scheduler, wiring.qps, call<&Requester::kick>(this)),
      dma_({wiring.scheduler, wiring.clock, wiring.pcie, wiring.key_checker, wiring.elided},
           DmaEngine::Direction::kGather, *this) {
  config_.ack_request_interval = wiring.congestion.ack_interval(config.ack_request_interval);
}

void Requester::ready(NicQueuePair& qp) {
  // A datagram has its priority from its own address: there the last packet's stands for the next.
  const abi::QpContext* context = w_.contexts.peek(qp.qpn.value());
  if (context != nullptr && context->transport != Transport::kUd)
    qp.priority = w_.mac.priority_of(*context);
  wait_for_turn(qp, w_.scheduler.now());
}

/// `since`: when the queue pair could have entered the pipeline.
void Requester::wait_for_turn(NicQueuePair& qp, Time since) {
  if (qp.queued) return;
  const bool new_work = qp.may_send_new() && qp.has_wqe_to_send();
  if (!new_work && !qp.repeat_ready) return;
  if (qp.flow != nullptr) {
    qp.flow->closed = !qp.repeat_ready && !qp.flow->window_is_open();
    if (qp.flow->closed) return;
    since = std::max(since, qp.flow->next_send);
  }
  qp.queued = true;
  if (!qp.repeat_ready && !qp.started)
    since = std::max({since, qp.next_wqe_at, qp.wqe(qp.sending).decoded});
  tx_scheduler_.add(qp, since);
}

/// Arms the next turn if there is somebody to serve and room for a packet. A turn is decided when
/// it leaves the pipeline, for whoever was ready when it entered: turns follow at the interval.
void Requester::kick() {
  if (turn_armed_ || tx_scheduler_.empty()) return;
  const int priority = next_priority();
  if (priority < 0) {
    if (stalled_since_ == Time::never()) stalled_since_ = w_.scheduler.now();
    return;
  }
  if (stalled_since_ != Time::never())
    stalled_buffer_ += w_.scheduler.now() - std::exchange(stalled_since_, Time::never());
  turn_priority_ = static_cast<std::uint8_t>(priority);
  turn_armed_ = true;
  const Time ready = ready_since(turn_priority_);
  entered_ = pipeline_.next_entry(ready);
  w_.scheduler.at(context_port_.enter(pipeline_.enter(ready)), call<&Requester::turn>(this));
}

/// Of the priorities that have room the one that has waited longest; negative: none has.
int Requester::next_priority() const {
  int best = -1;
  for_each_priority(tx_scheduler_.waiting(), [&](std::uint8_t priority) {
    if (!has_room(priority)) return;
    if (best < 0 || ready_since(priority) < ready_since(static_cast<std::uint8_t>(best)))
      best = priority;
  });
  return best;
}

void Requester::turn() {
  turn_armed_ = false;
  if (tx_scheduler_.empty()) return;
  NicQueuePair& qp = tx_scheduler_.take(turn_priority_);
  const Qpn qpn = qp.qpn;
  abi::QpContext* context =
      w_.contexts.lookup(qpn.value(), call<&Requester::retry_turn>(this, qpn.value()));
  if (context != nullptr) serve(qp, *context);
  kick();
}

/// The turn of a queue pair whose context is at hand.
void Requester::serve(NicQueuePair& qp, abi::QpContext& context) {
  if (qp.repeat_ready && sends(context.state)) {
    make_again(qp, context);
    qp.queued = false;  // now only: the next one counts from when this one entered
    wait_for_turn(qp, entered_);
    return;
  }
  qp.queued = false;
  if (!qp.may_send_new() || !qp.has_wqe_to_send()) return;
  // A draining send queue ends what it has begun, lost packets included, and begins nothing else.
  const bool may_send =
      context.state == QpState::kRts ||
      (context.state == QpState::kSqd && qp.has_begun(qp.wqe(qp.sending).id.index()));
  if (!may_send) return;
  if (!qp.started && !may_start(qp, context)) return;
  make_packet(qp, context);
  wait_for_turn(qp, entered_);
}

/// False: the message waits for answers; the completer says when one has come.
bool Requester::may_start(NicQueuePair& qp, const abi::QpContext& context) {
  const SendWqe& wqe = qp.to_send.at(qp.sending - qp.first_wqe);
  // One that is sent again has its place already.
  const std::size_t own = !qp.reads.empty() && qp.reads.back().id == wqe.id ? 1 : 0;
  const std::size_t others = qp.reads.size() - own;
  const bool fence = wqe.fence || wqe.opcode == abi::WqeOpcode::kLocalInvalidate;
  if (fence && others != 0) {
    ++fenced_;
    return false;
  }
  if ((is_read(wqe.opcode) || is_atomic(wqe.opcode)) && others != 0 &&
      others >= context.max_rd_atomic) {
    ++read_limited_;
    return false;
  }
  return true;
}

/// The context has been fetched. It is used at once: by the next turn a cache smaller than the
/// number of busy queue pairs would have lost it again, and nobody would ever send.
void Requester::retry_turn(std::uint64_t number) {
  const Qpn qpn(static_cast<std::uint32_t>(number));
  NicQueuePair& qp = w_.qps.at(qpn);
  abi::QpContext* context = w_.contexts.peek(qpn.value());
  if (context == nullptr || !has_room(qp.priority)) {
    tx_scheduler_.add(qp, w_.scheduler.now());
    return;
  }
  entered_ = w_.scheduler.now();
  serve(qp, *context);
}

CompletionStatus Requester::judge(const abi::QpContext& context, const SendWqe& wqe) const {
  const bool answered = is_read(wqe.opcode) || is_atomic(wqe.opcode);
  if (wqe.malformed || !offers(context.transport, wqe.opcode) ||
      (answered && context.max_rd_atomic == 0) || (answered && wqe.inline_bytes != 0) ||
      (is_local(wqe.opcode) && wqe.length != 0))
    return CompletionStatus::kLocalQpOperationError;
  if (wqe.length > kMaxMessageBytes ||
      (context.transport == Transport::kUd && wqe.length > context.path_mtu()) ||
      (is_atomic(wqe.opcode) && wqe.length != sizeof(std::uint64_t)))
    return CompletionStatus::kLocalLengthError;
  return CompletionStatus::kSuccess;
}

/// Judges a WQE at its first packet. False: it failed at home.
bool Requester::start_message(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe) {
  if (!qp.has_begun(wqe.id.index())) qp.begun = wqe.id.index() + 1;
  qp.next_wqe_at = entered_ + config_.wqe_interval;
  qp.send_cqn = context.send_cqn;
  qp.timeout = ack_timeout(context.ack_timeout);
  if (!std::exchange(qp.resumed, false)) {
    qp.message_psn = context.next_send_psn;
    if (qp.outstanding.empty()) qp.acked = context.next_send_psn;
  }
  const CompletionStatus status = judge(context, wqe);
  if (status == CompletionStatus::kSuccess) return true;
  fail_at_home(qp, wqe.id, status);
  return false;
}

void Requester::fail_at_home(NicQueuePair& qp, WorkRequestId id, CompletionStatus status) {
  qp.send_stopped = true;
  // Packets of earlier messages may still be under way: the failure waits its turn there.
  DmaEngine::Job job;
  job.qp = &qp;
  job.epoch = Epoch(qp.epoch);
  job.id = id;
  job.failed = status;
  dma_.add(std::move(job));
}

/// What has no packet: nothing to do, or an operation on keys.
void Requester::make_local(NicQueuePair& qp, const abi::QpContext& context, const SendWqe& wqe) {
  if (wqe.opcode == abi::WqeOpcode::kNop || qp.has_executed(wqe.id)) {
    finish_local(qp, wqe);
    return;
  }
  KeyOperations::Operation operation;
  operation.kind = wqe.opcode == abi::WqeOpcode::kBindWindow
                       ? KeyOperations::Kind::kBind
                       : KeyOperations::Kind::kLocalInvalidate;
  operation.bind = wqe.bind;
  operation.key = MemoryKey(wqe.immediate);
  operation.pd = context.pd;
  operation.qpn = qp.qpn;
  operation.work_request = wqe.id;
  qp.executing = true;
  qp.executing_id = wqe.id;
  w_.key_operations.submit(operation, call<&Requester::executed>(this, qp.qpn.value()));
}

/// Takes no PSN: it is done with what was sent before it.
void Requester::finish_local(NicQueuePair& qp, const SendWqe& wqe) {
  finish_wqe(qp, wqe, qp.message_psn + Psn::kMask);
  qp.retire_wqes();
  completer_->advance(qp);
}

/// An operation on keys is done. The queue pair may have gone back, failed or been reset meanwhile.
void Requester::executed(std::uint64_t number) {
  NicQueuePair& qp = w_.qps.at(Qpn(static_cast<std::uint32_t>(number)));
  const WorkRequestId id = std::exchange(qp.executing_id, {});
  const bool done = w_.key_operations.fault() == KeyOperations::Fault::kNone;
  qp.executing = false;
  if (id && done) qp.executed = id;
  const bool present = id && !qp.failed && qp.has_wqe_to_send() && qp.wqe(qp.sending).id == id;
  if (present && done) {
    finish_local(qp, qp.wqe(qp.sending));
    wqe_fetch_->resume(qp.qpn);
  } else if (present) {
    fail_at_home(qp, id,
                 qp.wqe(qp.sending).opcode == abi::WqeOpcode::kBindWindow
                     ? CompletionStatus::kMemoryWindowBindError
                     : CompletionStatus::kLocalQpOperationError);
  }
  ready(qp);
}

void Requester::make_packet(NicQueuePair& qp, abi::QpContext& context) {
  SendWqe& wqe = qp.wqe(qp.sending);
  if (!qp.started && !start_message(qp, context, wqe)) return;
  if (is_local(wqe.opcode)) {
    make_local(qp, context, wqe);
    return;
  }
  const bool data = sends_data(wqe.opcode);
  const auto length = static_cast<std::uint32_t>(
      data ? std::min<std::uint64_t>(context.path_mtu(), wqe.length - qp.offset) : 0);
  DmaEngine::Job job;
  job.packet = data ? build(qp, context, wqe, length) : build_request(qp, context, wqe);
  job.epoch = Epoch(qp.epoch);
  job.message = qp.sending;
  job.offset = qp.offset;
  if (wqe.inline_bytes == 0)
    job.bytes = length;
  else
    builder_.copy_inline(qp, wqe, *job.packet);
  qp.started = true;
  qp.offset += length;
  w_.contexts.mark_dirty(qp.qpn.value());
  ++wqe.gathering;
  if (!data || qp.offset == wqe.length) finish_wqe(qp, wqe, context.next_send_psn + Psn::kMask);
  add_job(qp, context, wqe.id, std::move(job));
}

/// What every packet between its turn and the port has.
void Requester::add_job(NicQueuePair& qp, const abi::QpContext& context, WorkRequestId id,
                        DmaEngine::Job job) {
  job.qp = &qp;
  job.id = id;
  job.ready = w_.scheduler.now();
  job.check.pd = context.pd;
  ++packets_;
  probe(job.ready, ProbeKind::kTurn, id, job.packet->id, static_cast<std::uint64_t>(entered_.ps()),
        w_.mac.priority_of(*job.packet) | (job.message == kRepeated ? kSentAgainBit : 0));
  w_.congestion.sent(qp, *job.packet, entered_, job.message == kRepeated);
  qp.priority = w_.mac.priority_of(*job.packet);
  Bytes& buffered = buffered_[qp.priority];
  buffered += job.packet->payload_length;
  most_buffered_ = std::max(most_buffered_, buffered);
  dma_.add(std::move(job));
}

/// A packet that was lost, alone.
void Requester::make_again(NicQueuePair& qp, const abi::QpContext& context) {
  Repeats::Range range;
  if (repeater_->take(qp, range)) {
    SendWqe& wqe = qp.repeats->wqe;
    const std::uint32_t mtu = context.path_mtu();
    DmaEngine::Job job;
    job.offset = static_cast<std::uint64_t>(range.psn - qp.repeats->message.first_psn) * mtu;
    const auto length = static_cast<std::uint32_t>(
        std::min(std::uint64_t{range.count} * mtu, wqe.length - job.offset));
    job.packet = sends_data(wqe.opcode)
                     ? builder_.data(qp, context, wqe, range.psn, job.offset, length)
                     : builder_.request(context, wqe, range.psn, job.offset, length);
    if (is_read(wqe.opcode)) charge_read();
    job.packet->bth.ack_req = true;
    job.epoch = Epoch(qp.repeat_epoch);
    job.message = kRepeated;
    if (wqe.inline_bytes != 0)
      builder_.copy_inline_again(*qp.repeats, job.offset, *job.packet);
    else if (sends_data(wqe.opcode))
      job.bytes = length;
    ++wqe.gathering;
    add_job(qp, context, wqe.id, std::move(job));
  }
  repeater_->go_on(qp);
}

/// The next packet of a WRITE or SEND.
PacketRef Requester::build(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe,
                           std::uint32_t length) {
  PacketRef packet = builder_.data(qp, context, wqe, context.next_send_psn, qp.offset, length);
  ++context.next_send_psn;
  const bool last = qp.offset + length == wqe.length;
  packet->bth.ack_req = context.transport == Transport::kRc &&
                        (last || ++qp.since_ack_request == config_.ack_request_interval ||
                         CongestionUnit::fills_window(qp, length));
  if (packet->bth.ack_req) qp.since_ack_request = 0;
  return packet;
}

/// The one packet of a READ or atomic; a READ that is sent again asks for what has not come.
PacketRef Requester::build_request(NicQueuePair& qp, abi::QpContext& context, const SendWqe& wqe) {
  const Psn first = context.next_send_psn;
  const std::uint64_t left = wqe.length - qp.offset;
  const auto span = static_cast<std::uint32_t>(
      is_read(wqe.opcode) ? std::max<std::uint64_t>(divide_up(left, context.path_mtu()), 1) : 1);
  PacketRef packet = builder_.request(context, wqe, first, qp.offset, left);
  context.next_send_psn = first + span;
  expect_answer(qp, wqe, first, first + (span - 1));
  if (is_read(wqe.opcode)) charge_read();
  return packet;
}

/// Turns begin at clock edges: of READs that follow each other the part of a cycle that is waited
/// for the next edge is not lost.
void Requester::charge_read() {
  if (config_.read_interval == Time()) return;
  const bool follows = entered_ < read_free_ + w_.clock.duration(Cycles(1));
  read_free_ = (follows ? read_free_ : entered_) + config_.read_interval;
  pipeline_.hold(read_free_);
}

void Requester::expect_answer(NicQueuePair& qp, const SendWqe& wqe, Psn first, Psn last) {
  const bool again = !qp.reads.empty() && qp.reads.back().id == wqe.id;
  OutstandingRead& read = again ? qp.reads.back() : qp.reads.push(OutstandingRead{});
  read.next_psn = first;
  read.last_psn = last;
  read.atomic = is_atomic(wqe.opcode);
  read.length = static_cast<std::uint32_t>(wqe.length);
  read.received = static_cast<std::uint32_t>(qp.offset);
  read.segment_count = wqe.segment_count;
  std::copy_n(wqe.segments.begin(), wqe.segment_count, read.segments.begin());
  read.id = wqe.id;
}

/// The WQE is wholly cut into packets: it now waits for its acknowledgement.
void Requester::finish_wqe(NicQueuePair& qp, const SendWqe& wqe, Psn last_psn) {
  OutstandingMessage message;
  message.first_psn = qp.message_psn;
  message.last_psn = last_psn;
  message.wqe_index = wqe.block;
  message.wqe_blocks = wqe.blocks;
  message.opcode = wqe.opcode;
  message.signaled = wqe.signaled;
  message.bytes = static_cast<std::uint32_t>(wqe.length);
  message.id = wqe.id;
  if (message.has_answer()) message.local_error = qp.reads.back().local_error;
  qp.outstanding.push(message);
  ++qp.sending;
  qp.offset = 0;
  qp.started = false;
  ++messages_;
}

SendWqe& Requester::wqe_of(const DmaEngine::Job& job) {
  return job.message == kRepeated ? job.qp->repeats->wqe : job.qp->wqe(job.message);
}

/// As much of the packet as lies in one data segment.
void Requester::begin_part(const DmaEngine::Job& job, std::uint32_t moved, KeyCheck& check) {
  const SendWqe& wqe = wqe_of(job);
  const std::uint32_t within =
      DmaEngine::aim(check, wqe.segments.data(), job.offset + moved, job.bytes - moved);
  check.state = within == 0 ? KeyCheck::State::kKeyLookup : KeyCheck::State::kTranslate;
}

void Requester::refused(std::uint64_t, DmaEngine::Job& job, KeyFault) {
  job.failed = CompletionStatus::kLocalProtectionError;
  job.qp->send_stopped = true;
}

/// Of the segment that the page belongs to, what follows will be wanted, too. A queue pair asks for
/// one page at a time.
bool Requester::take_back(DmaEngine::Job& job) {
  if (job.packet->bth.transport != WireTransport::kRc || job.message == kRepeated) return false;
  if (!std::exchange(job.qp->waits_for_page, true))
    w_.key_checker.wait_for_page(
        job.check, job.check.behind(),
        call<&Retransmitter::page_is_here>(retransmitter_, job.qp->qpn.value()));
  return true;
}

void Requester::part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) {
  const Time now = w_.scheduler.now();
  probe(now, ProbeKind::kTranslated, job.id, job.packet->id,
        static_cast<std::uint64_t>(job.ready.ps()), check.missed ? 1 : 0);
  probe(now, ProbeKind::kPayloadReadStart, job.id, job.packet->id, job.offset + moved,
        check.length);
}

void Requester::issued(const DmaEngine::Job& job) {
  if (job.is_void() || job.absent || job.failed != CompletionStatus::kSuccess) return;
  NicQueuePair& qp = *job.qp;
  --wqe_of(job).gathering;
  if (job.message == kRepeated) {
    repeater_->go_on(qp);
    return;
  }
  qp.retire_wqes();
  wqe_fetch_->resume(qp.qpn);
}

void Requester::done(const DmaEngine::Job& job, Time since) {
  probe(w_.scheduler.now(), ProbeKind::kPayloadReadEnd, job.id, job.packet->id,
        static_cast<std::uint64_t>(since.ps()), job.bytes);
}

/// Gives the port what is complete, in order.
bool Requester::leave(std::uint64_t sequence, DmaEngine::Job& job) {
  NicQueuePair& qp = *job.qp;
  const bool is_void = job.is_void();
  if (job.absent && !is_void) return leave_for_page(sequence);
  if (is_void || job.failed != CompletionStatus::kSuccess) {
    if (job.packet) give_up_room(*job.packet);
    if (is_void) return true;
    const WorkRequestId id = job.id;
    const CompletionStatus failed = job.failed;
    qp.void_window();
    completer_->message_failed(qp, id, failed);
    return true;
  }
  const bool unreliable = job.packet->bth.transport != WireTransport::kRc;
  const bool ends = ends_message(job.packet->bth.opcode);
  const Psn psn = job.packet->bth.psn;
  const Time ready = header_pipeline_.enter(w_.scheduler.now());
  w_.mac.enqueue(std::move(job.packet), ready, MacTx::Queue::kRequest,
                 unreliable ? Epoch() : Epoch(qp.port_epoch), w_.pcie.least_time(Bytes(job.bytes)));
  if (!unreliable)
    retransmitter_->sent(qp);
  else if (ends)
    completer_->sent(qp, psn, ready);
  return true;
}

/// What was made from the packet on is cut again when the page is there.
bool Requester::leave_for_page(std::uint64_t sequence) {
  const DmaEngine::Job& job = dma_.job(sequence);
  NicQueuePair& qp = *job.qp;
  abi::QpContext* context = w_.contexts.lookup(qp.qpn.value(), call<&Requester::drain>(this));
  if (context == nullptr) return false;
  Bytes taken_back;
  for (std::uint64_t i = sequence; i != dma_.next(); ++i) {
    const DmaEngine::Job& behind = dma_.job(i);
    if (behind.qp == &qp && behind.packet && !behind.is_void() && behind.message != kRepeated)
      taken_back += behind.packet->payload_length;
  }
  const Psn psn = job.packet->bth.psn;
  give_up_room(*job.packet);
  retransmitter_->page_missing(qp, *context, psn, taken_back);
  return true;
}

void Requester::give_up_room(const Packet& packet) {
  packet_started(MacTx::Started{packet.payload_length, w_.mac.priority_of(packet)}.pack());
}

void Requester::packet_started(std::uint64_t packed) {
  const MacTx::Started started = MacTx::Started::unpack(packed);
  const bool was_full = !has_room(started.priority);
  buffered_[started.priority] -= started.payload;
  if (was_full) room_since_[started.priority] = w_.scheduler.now();
  kick();
}

void Requester::signals(const SignalScope& scope) {
  pipeline_.signals(scope);
  scope.level("packets", Unit::kCount, "packets whose payload is being read",
              [this] { return dma_.size(); });
  scope.level("buffered", Unit::kBytes, "payload in the transmit buffer, asked for or here",
              [this] {
                Bytes sum;
                for (const Bytes bytes : buffered_) sum += bytes;
                return sum.count();
              });
  scope.total("messages", Unit::kCount, "messages begun", [this] { return messages_; });
}

void Requester::report(const MetricScope& scope) const {
  scope.count("messages", messages_, "messages cut into packets");
  scope.count("packets", packets_, "request packets made");
  scope.count("fenced", fenced_, "turns in which a fence waited for READs or atomics");
  scope.count("read_limited", read_limited_, "turns in which max_rd_atomic held a message back");
  scope.time("busy", pipeline_.busy(), "time the requester's pipeline was taken");
  scope.time("stalled.fault", pipeline_.blocked(), "time that an injected stall held up turns");
  scope.time("stalled.transmit_buffer", stalled_buffer_,
             "time in which work waited for transmit buffer");
  scope.time("stalled.header_pipeline", header_pipeline_.stalled(),
             "packets waited for the header pipeline");
  scope.bytes("occupancy.max", most_buffered_,
              "most payload bytes of one priority between turn and wire");
}

}  // namespace rnicsim
