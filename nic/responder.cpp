// SPDX-License-Identifier: MIT
#include "nic/responder.h"

#include <algorithm>
#include <utility>

#include "nic/completer.h"
#include "nic/request_check.h"

namespace rnicsim {

void ResponderConfig::describe(Fields& fields) {
  fields.object("pipeline", pipeline, "context look-up, PSN and opcode checks");
  fields.object("ack_pipeline", ack_pipeline, "from the decision to answer to the port");
  fields.field("window", window, range(1, 1024),
               "packets that translate and write to host memory at once");
  fields.field("prefetch_contexts", prefetch_contexts, range(0, 1024),
               "packets that wait whose queue pairs' contexts are fetched before their turn");
}

Responder::Responder(const Wiring& wiring, const ResponderConfig& config)
    : w_(wiring),
      config_(config),
      pipeline_(wiring.clock, config.pipeline),
      context_port_(wiring.contexts.add_port(wiring.clock)),
      dma_({wiring.scheduler, wiring.clock, wiring.pcie, wiring.key_checker, wiring.elided},
           DmaEngine::Direction::kScatter, *this),
      messages_(
          {wiring.contexts, wiring.receives, pool_, wiring.elided, call<&Responder::pump>(this)}),
      judge_({wiring.scheduler, wiring.contexts, wiring.qps, wiring.key_checker, wiring.atomics,
              messages_, probe, wiring.reorder_buffer, wiring.restarts_messages,
              call<&Responder::pump>(this)}),
      refusals_({wiring.contexts, wiring.qps, messages_, judge_, call<&Responder::drain>(this)}),
      invalidation_({wiring.contexts, wiring.qps, wiring.key_operations, requests_,
                     call<&Responder::drain>(this), call<&Responder::pump>(this)}),
      acknowledger_(
          {wiring.scheduler, wiring.clock, wiring.contexts, wiring.qps, wiring.port, wiring.mac_tx,
           probe, wiring.reorder_buffer != nullptr, call<&Responder::drain>(this)},
          config.ack_pipeline),
      flusher_(
          {wiring.scheduler, wiring.contexts, wiring.cqe_writer, wiring.receives, pool_, dma_}) {}

void Responder::connect(Completer& completer, ReadResponder& read_responder) {
  completer_ = &completer;
  judge_.connect(completer);
  refusals_.connect(completer);
  invalidation_.connect(completer);
  acknowledger_.connect(read_responder);
}

void Responder::receive(PacketRef packet, Time ready) {
  ++received_;
  arrivals_.push({std::move(packet), ready});
  look_ahead();
  most_inside_ = std::max(most_inside_, arrivals_.size() + requests_.size());
  pump();
}

/// Has the contexts fetched that the next packets need.
void Responder::look_ahead() {
  for (; looked_ahead_ < std::min<std::size_t>(arrivals_.size(), config_.prefetch_contexts);
       ++looked_ahead_) {
    const std::uint32_t qpn = arrivals_.at(looked_ahead_).packet->bth.dest_qp.value();
    if (w_.contexts.in_range(qpn)) w_.contexts.prefetch(qpn);
  }
}

/// Judges packets in arrival order as far as the window and the caches allow.
void Responder::pump() {
  if (pumping_) return;
  pumping_ = true;
  while (InboundRequest* next = next_to_judge()) {
    if (invalidation_.holds_up(*next) || !judge_.judge(*next)) break;
    if (next->invalidates) invalidation_.expect();
    const Qpn qpn = next->qpn();
    hand_over(*next);
    take_early(qpn);
  }
  pumping_ = false;
  flusher_.go_on();
}

/// A request of the queue pair has been judged: one that came early may be the next.
void Responder::take_early(Qpn qpn) {
  if (w_.reorder_buffer == nullptr || !w_.contexts.in_range(qpn.value())) return;
  const abi::QpContext* context = w_.contexts.peek(qpn.value());
  if (context != nullptr)
    due_ = w_.reorder_buffer->take(w_.qps.at(qpn).early_requests, context->expected_psn);
}

void Responder::drop_early(NicQueuePair& qp) {
  if (w_.reorder_buffer != nullptr) w_.reorder_buffer->drop(qp.early_requests);
}

/// The one that waits for an entry or a key; else the oldest that has come, which passes the
/// pipeline now. Null: none has come, or the window is full.
InboundRequest* Responder::next_to_judge() {
  if (requests_.size() > dma_.size()) return &requests_.back();
  if (!due_ && arrivals_.empty()) return nullptr;
  const Time now = w_.scheduler.now();
  if (dma_.size() >= config_.window) {
    if (waits_since_ == Time::never()) waits_since_ = now;
    return nullptr;
  }
  if (waits_since_ != Time::never())
    stalled_window_ += now - std::exchange(waits_since_, Time::never());
  const bool early = static_cast<bool>(due_);
  Arrival arrival = early ? Arrival{std::move(due_), now} : arrivals_.take();
  if (!early && looked_ahead_ != 0) --looked_ahead_;
  look_ahead();
  InboundRequest& next = requests_.push(InboundRequest{});
  next.packet = std::move(arrival.packet);
  next.ready = context_port_.enter(pipeline_.enter(std::max(arrival.ready, now)));
  return &next;
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
  w_.congestion.taken(packet, request.ready);
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
    const bool empty = check.state == KeyCheck::State::kPass && check.piece_count == 0;
    job.bytes = empty ? 0 : check.length;
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
  const Receive& receive = pool_.at(job.message);
  DmaEngine::aim(check, receive.segments.data(), job.offset + moved, job.bytes - moved);
  check.needs = AccessFlags::kLocalWrite;
}

bool Responder::may_move(std::uint64_t sequence, DmaEngine::Job&) {
  InboundRequest& request = this->request(sequence);
  if (!w_.qps.at(request.qpn()).receive_failed) return true;
  refusals_.cancel(request);
  return false;
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
  judge_.atomic_ended();
  w_.atomics.release(request.ticket);
  NicQueuePair& qp = w_.qps.at(request.qpn());
  for (std::size_t i = 0; i < qp.atomics.size(); ++i)
    if (qp.atomics.at(i).psn == request.packet->bth.psn)
      qp.atomics.at(i) = {request.ack_psn, request.original, true};
  dma_.finished(sequence);
  pump();
}

void Responder::refused(std::uint64_t sequence, DmaEngine::Job&, KeyFault fault) {
  refusals_.refuse(request(sequence), sequence, fault);
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
/// header in the last 20 of as many bytes (annex A17.4.5); of InfiniBand, which has neither within
/// a subnet, zeros where the specification leaves undefined what is there.
void Responder::prefix(const DmaEngine::Job& job, std::uint8_t* to) {
  if (job.packet->has_grh()) {
    job.packet->grh().write(to);
    return;
  }
  std::fill_n(to, kGrhBytes, std::uint8_t{0});
  if (job.packet->link_layer == LinkLayer::kInfiniBand) return;
  Ipv4Header header = job.packet->ipv4;
  header.total_length = static_cast<std::uint16_t>(job.packet->ip_bytes().count());
  header.write(to + kGrhBytes - Ipv4Header::kBytes);
}

/// The oldest packet is through: completion, answer, end.
bool Responder::leave(std::uint64_t sequence, DmaEngine::Job&) {
  InboundRequest& front = requests_.front();
  if ((front.verdict == Verdict::kTake || front.verdict == Verdict::kRead) && !front.refused_late) {
    const NicQueuePair& qp = w_.qps.at(front.qpn());
    if (qp.receive_failed && sequence > qp.receive_failed_at) refusals_.cancel(front);
  }
  if (front.refused_late && !refusals_.answer(front)) return false;
  if ((front.invalidates || front.class_j) && !invalidation_.carry_out(front)) return false;
  if (front.cqe_due && !write_completion(front)) return false;
  const bool next_through = dma_.size() > 1 && dma_.is_through(sequence + 1);
  if (!acknowledger_.answer(front, next_through ? &requests_.at(1) : nullptr)) return false;
  if (front.verdict == Verdict::kDrop) ++dropped_;
  pool_.drop(front.receive);
  if (front.verdict != Verdict::kKept) w_.mac_rx.release(*front.packet);
  requests_.pop();
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

void Responder::go_on() {
  if (waits_for_writer_) {
    waits_for_writer_ = false;
    stalled_writer_ += w_.scheduler.now() - writer_since_;
    dma_.drain();
  }
  flusher_.go_on();
}

void Responder::flush_receives(NicQueuePair& qp) {
  drop_early(qp);
  flusher_.flush(qp, dma_.first() + requests_.size() + (due_ ? 1 : 0) + arrivals_.size());
}

void Responder::forget(NicQueuePair& qp) {
  drop_early(qp);
  completer_->forget(qp);
  pool_.drop(qp.receive);
  w_.receives.reset(qp);
}

void Responder::receives_posted(std::uint64_t qpn) {
  const auto index = static_cast<std::uint32_t>(qpn);
  if (!w_.contexts.in_range(index)) return;
  NicQueuePair& qp = w_.qps.at(Qpn(index));
  if (qp.failed) flush_receives(qp);
}

void Responder::signals(const SignalScope& scope) {
  pipeline_.signals(scope);
  scope.level("waiting", Unit::kCount, "packets that wait to be judged",
              [this] { return arrivals_.size(); });
  scope.level(
      "inside", Unit::kCount, "packets judged that have not left", [this] { return dma_.size(); },
      config_.window);
}

void Responder::report(const MetricScope& scope) const {
  messages_.report(scope);
  judge_.report(scope);
  acknowledger_.report(scope);
  flusher_.report(scope);
  scope.count("requests", received_, "request packets received");
  scope.bytes("payload_bytes", written_, "payload bytes written to host memory");
  scope.count("dropped", dropped_, "requests that were dropped");
  scope.time("busy", pipeline_.busy(), "time the responder's pipeline was taken");
  scope.time("stalled.interval", pipeline_.stalled(), "packets waited for the pipeline");
  scope.time("stalled.fault", pipeline_.blocked(), "time that an injected stall held up packets");
  scope.time("stalled.window", stalled_window_, "time in which packets waited for the window");
  scope.time("stalled.cqe_writer", stalled_writer_,
             "time in which a receive's completion waited for the CQE writer");
  scope.count("occupancy.max", most_inside_, "most packets between parser and acknowledgement");
}

}  // namespace rnicsim
