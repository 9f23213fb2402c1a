// SPDX-License-Identifier: MIT
#include "nic/read_responder.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"

namespace rnicsim {

namespace {

Opcode response_opcode(bool first, bool last) {
  if (first) return last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst;
  return last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle;
}

}  // namespace

void ReadResponderConfig::describe(Fields& fields) {
  fields.object("pipeline", pipeline, "from a queue pair's turn to its payload read");
  fields.field("buffer", buffer, range(Bytes(8192), Bytes(1 << 26)),
               "payload bytes between their turn and the port");
}

ReadResponder::ReadResponder(const Wiring& wiring, const ReadResponderConfig& config)
    : w_(wiring),
      config_(config),
      pipeline_(wiring.clock, config.pipeline),
      context_port_(wiring.contexts.add_port(wiring.clock)),
      dma_({wiring.scheduler, wiring.clock, wiring.pcie, wiring.key_checker, wiring.elided},
           DmaEngine::Direction::kGather, *this) {}

void ReadResponder::owes(NicQueuePair& qp) {
  if (qp.responding || qp.owed.empty()) return;
  qp.responding = true;
  if (qp.flow == nullptr || qp.flow->next_send <= w_.scheduler.now()) return queue(qp);
  wait(qp, qp.flow->next_send);
}

void ReadResponder::hurry(NicQueuePair& qp, Time from) {
  if (qp.answer_due != Time::never() && from < qp.answer_due)
    wait(qp, std::max(from, w_.scheduler.now()));
}

void ReadResponder::wait(NicQueuePair& qp, Time until) {
  qp.answer_due = until;
  w_.scheduler.at(until, call<&ReadResponder::due>(this, qp.qpn.value()));
}

void ReadResponder::due(std::uint64_t qpn) {
  NicQueuePair& qp = w_.qps.at(Qpn(static_cast<std::uint32_t>(qpn)));
  if (qp.answer_due != w_.scheduler.now()) return;  // it was hurried
  qp.answer_due = Time::never();
  queue(qp);
}

void ReadResponder::queue(NicQueuePair& qp) {
  const abi::QpContext* context = w_.contexts.peek(qp.qpn.value());
  if (context != nullptr) qp.priority = w_.mac_tx.priority_of(*context);
  turns_[qp.priority].push({&qp, orders_++});
  waiting_ = static_cast<PrioritySet>(waiting_ | priority_bit(qp.priority));
  kick();
}

/// Whose turn is the oldest of those that the port has room for; below 0 if none is.
int ReadResponder::next_priority() const {
  int next = -1;
  for_each_priority(waiting_, [&](std::uint8_t priority) {
    if (!w_.mac_tx.has_room_for_response(priority)) return;
    if (next < 0 ||
        turns_[priority].front().order < turns_[static_cast<std::size_t>(next)].front().order)
      next = priority;
  });
  return next;
}

/// Lets turns into the pipeline, one whenever it takes one.
void ReadResponder::kick() {
  const Time now = w_.scheduler.now();
  while (!turn_armed_ && waiting_ != 0) {
    const int priority = next_priority();
    if (priority < 0) {
      if (!waits_for_port_) port_since_ = now;
      waits_for_port_ = true;
      return;
    }
    if (!has_room()) {
      if (room_since_ == Time::never()) room_since_ = now;
      return;
    }
    if (room_since_ != Time::never())
      stalled_buffer_ += now - std::exchange(room_since_, Time::never());
    const Time entry = pipeline_.next_entry(now);
    if (entry == now) {
      begin_turn(static_cast<std::size_t>(priority));
    } else {
      turn_armed_ = true;
      stalled_interval_ += entry - now;
      w_.scheduler.at(entry, call<&ReadResponder::turn>(this));
    }
  }
}

void ReadResponder::turn() {
  turn_armed_ = false;
  kick();
}

void ReadResponder::begin_turn(std::size_t priority) {
  const Time now = w_.scheduler.now();
  Ring<Turn>& turns = turns_[priority];
  NicQueuePair& qp = *turns.take().qp;
  if (turns.empty()) waiting_ = static_cast<PrioritySet>(waiting_ & ~(1U << priority));
  qp.turn_entered = now;
  ++in_pipeline_;
  w_.scheduler.at(context_port_.enter(pipeline_.enter(now)),
                  call<&ReadResponder::end_turn>(this, qp.qpn.value()));
}

/// The turn keeps its room in the buffer until its context is there.
void ReadResponder::end_turn(std::uint64_t number) {
  const auto index = static_cast<std::uint32_t>(number);
  const abi::QpContext* context =
      w_.contexts.lookup(index, call<&ReadResponder::end_turn>(this, number));
  if (context == nullptr) return;
  --in_pipeline_;
  serve(w_.qps.at(Qpn(index)), *context);
  kick();
}

void ReadResponder::serve(NicQueuePair& qp, const abi::QpContext& context) {
  qp.responding = false;
  if (qp.owed.empty()) return;  // reset meanwhile
  DmaEngine::Job job;
  job.packet = build(qp, context, qp.owed.front(), job);
  job.qp = &qp;
  job.epoch = Epoch(qp.response_epoch);
  OwedResponse& owed = qp.owed.front();
  job.id = owed.id;
  if (owed.kind != OwedResponse::Kind::kRead || owed.offset == owed.length) qp.owed.pop();
  ++qp.answers_under_way;
  ++packets_;
  w_.congestion.sent_response(qp, *job.packet, qp.turn_entered);
  const Bytes payload = job.packet->payload_length;
  payload_ += payload;
  buffered_ += payload;
  most_buffered_ = std::max(most_buffered_, buffered_);
  owes(qp);
  dma_.add(std::move(job));
}

void ReadResponder::begin_answers(NicQueuePair& qp, const abi::QpContext& context,
                                  const OwedResponse& owed) {
  const std::uint64_t packets = divide_up(std::uint64_t{owed.length}, context.path_mtu());
  qp.answering_first = owed.psn;
  qp.answering_end = owed.psn + static_cast<std::uint32_t>(std::max<std::uint64_t>(packets, 1));
}

PacketRef ReadResponder::build(NicQueuePair& qp, const abi::QpContext& context, OwedResponse& owed,
                               DmaEngine::Job& job) {
  Opcode opcode = Opcode::kAcknowledge;
  std::uint32_t bytes = 0;
  if (owed.kind == OwedResponse::Kind::kAtomic) opcode = Opcode::kAtomicAcknowledge;
  if (owed.kind == OwedResponse::Kind::kRead) {
    bytes = std::min(context.path_mtu(), owed.length - owed.offset);
    if (owed.offset == 0) begin_answers(qp, context, owed);
    opcode = response_opcode(owed.offset == 0, owed.offset + bytes == owed.length);
  }
  PacketRef packet = w_.port.make(context, opcode, owed.psn);
  packet->aeth = owed.aeth;
  packet->atomic_ack.original = owed.original;
  packet->work_request = owed.id;
  packet->payload_elided = w_.elided;
  packet->set_payload_length(Bytes(bytes));
  if (bytes != 0) {
    job.bytes = bytes;
    job.offset = owed.offset;
    job.check_set = true;
    job.check.state = KeyCheck::State::kTranslate;
    job.check.key = owed.key;
    job.check.pd = context.pd;
    job.check.address = VirtualAddress(owed.address.value() + owed.offset);
    job.check.region_address = owed.address;
    job.check.region_length = owed.length;
    job.check.length = bytes;
    job.check.work_request = owed.id;
    job.check.not_before = w_.key_checker.enter(w_.scheduler.now());
  }
  job.ready = w_.scheduler.now();
  owed.offset += bytes;
  ++owed.psn;
  return packet;
}

void ReadResponder::refused(std::uint64_t, DmaEngine::Job& job, KeyFault) {
  job.failed = CompletionStatus::kRemoteAccessError;
}

void ReadResponder::part(const DmaEngine::Job& job, std::uint32_t moved, const KeyCheck& check) {
  if (check.missed)
    probe(w_.scheduler.now(), ProbeKind::kTranslationMissed, job.id, job.packet->id,
          static_cast<std::uint64_t>(job.ready.ps()), check.length);
  probe(w_.scheduler.now(), ProbeKind::kPayloadReadStart, job.id, job.packet->id,
        job.offset + moved, check.length);
}

void ReadResponder::done(const DmaEngine::Job& job, Time since) {
  probe(w_.scheduler.now(), ProbeKind::kPayloadReadEnd, job.id, job.packet->id,
        static_cast<std::uint64_t>(since.ps()), job.bytes);
}

bool ReadResponder::leave(std::uint64_t, DmaEngine::Job& job) {
  const Bytes payload = job.packet->payload_length;
  if (!job.is_void()) {
    if (job.failed != CompletionStatus::kSuccess && !answer_refused(job)) return false;
    --job.qp->answers_under_way;
    w_.mac_tx.enqueue(std::move(job.packet), w_.scheduler.now(), MacTx::Queue::kResponse,
                      Epoch(job.qp->answer_epoch), w_.pcie.least_time(Bytes(job.bytes)));
  }
  buffered_ -= payload;
  kick();
  return true;
}

/// The key went while its data were being sent. False: the context has to be fetched first.
bool ReadResponder::answer_refused(DmaEngine::Job& job) {
  NicQueuePair& qp = *job.qp;
  abi::QpContext* context = w_.contexts.lookup(qp.qpn.value(), call<&ReadResponder::drain>(this));
  if (context == nullptr) return false;
  PacketRef nak = w_.port.make(*context, Opcode::kAcknowledge, job.packet->bth.psn);
  nak->aeth = Aeth::nak(job.packet->aeth.msn, NakCode::kRemoteAccessError);
  nak->work_request = job.id;
  job.packet = std::move(nak);
  // Nothing follows: neither what is owed or on its way nor what the responder has judged since.
  qp.owed.clear();
  ++qp.response_epoch;
  qp.answers_under_way = 1;
  qp.receive_failed = true;
  completer_->enter_error(qp, *context, CompletionStatus::kLocalAccessError);
  return true;
}

void ReadResponder::response_started() {
  if (!waits_for_port_) return;
  waits_for_port_ = false;
  stalled_port_ += w_.scheduler.now() - port_since_;
  kick();
}

void ReadResponder::signals(const SignalScope& scope) {
  pipeline_.signals(scope);
  scope.level("packets", Unit::kCount, "responses whose payload is being read",
              [this] { return dma_.size(); });
  scope.level(
      "buffered", Unit::kBytes, "payload of responses, asked for or here",
      [this] { return buffered_.count(); }, config_.buffer.count());
}

void ReadResponder::report(const MetricScope& scope) const {
  scope.count("packets", packets_, "READ responses, atomic results, acknowledgements in order");
  scope.bytes("payload_bytes", payload_, "payload bytes of READ responses");
  scope.time("busy", pipeline_.busy(), "time the pipeline was taken");
  scope.time("stalled.interval", stalled_interval_, "time in which turns waited for the pipeline");
  scope.time("stalled.buffer", stalled_buffer_, "time in which a turn waited for buffer");
  scope.time("stalled.port", stalled_port_,
             "time in which all turns waited for the port's response queue");
  scope.bytes("occupancy.max", most_buffered_, "most payload bytes between turn and port");
}

}  // namespace rnicsim
