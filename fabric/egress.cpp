// SPDX-License-Identifier: MIT
#include "fabric/egress.h"

#include <algorithm>
#include <utility>

namespace rnicsim {

namespace {

template <class Setting>
bool has_twice(const std::vector<Setting>& settings) {
  unsigned seen = 0;
  return std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
    const unsigned before = std::exchange(seen, seen | 1U << setting.priority);
    return before == seen;
  });
}

}  // namespace

void EgressConfig::describe(Fields& fields) {
  fields.list("weights", weights, ListLimits{0, kPriorities},
              "priorities that share bandwidth by weight (ETS); those not listed are strict, the "
              "highest number first");
  fields.list("ecn", ecn, ListLimits{0, kPriorities}, "marking, for each priority that has it");
  fields.object("pause", pause, "how this port is paused and pauses");
  fields.check(!has_twice(weights), "weights", "must not name a priority twice");
  fields.check(!has_twice(ecn), "ecn", "must not name a priority twice");
}

Egress::Egress(const Wiring& w, const EgressConfig& config)
    : scheduler_(w.scheduler),
      owner_(w.owner),
      port_(w.port),
      wire_(w.rate),
      preamble_(wire_.byte_time().of(preamble_bytes(w.link_layer))),
      gap_(wire_.byte_time().of(gap_bytes(w.link_layer))),
      arbiter_(config.weights),
      random_(w.random),
      flow_control_(
          {w.scheduler, w.packets, w.rate, w.mac, w.link_layer, w.credit, call<&Egress::go>(this)},
          config.pause),
      rate_class_(HopTelemetry::class_of(w.rate)) {
  for (const EcnConfig& ecn : config.ecn) {
    marking_ = static_cast<PrioritySet>(marking_ | priority_bit(ecn.priority));
    markers_[ecn.priority] = EcnMarker(ecn);
  }
}

void Egress::enqueue(PacketRef packet, Time ready) {
  const std::uint8_t priority = packet->priority;
  if (probe.on()) packet->stopped_before = flow_control_.stopped(priority);
  packet->head = ready;  // what it was at the ingress is of no more use
  nonempty_ = static_cast<PrioritySet>(nonempty_ | priority_bit(priority));
  queues_[priority].push(std::move(packet));
  if (!sending_) go();
}

void Egress::go() {
  if (sending_) return;
  if (flow_control_.frame_is_due()) {
    releases_ = false;
    put_on_wire(flow_control_.take_frame(), scheduler_.now());
    return;
  }
  const int priority = arbiter_.choose(ready_of(may_send()), nonempty_, [this](std::uint8_t p) {
    return queues_[p].front().frame_bytes();
  });
  if (priority >= 0) start(static_cast<std::uint8_t>(priority));
  flow_control_.note_waiting(priority < 0 ? nonempty_ : PrioritySet{0});
}

PrioritySet Egress::may_send() {
  auto set = static_cast<PrioritySet>(nonempty_ & ~flow_control_.held_up());
  if (!flow_control_.has_credits()) return set;
  for_each_priority(set, [&](std::uint8_t priority) {
    const Packet& first = queues_[priority].front();
    if (!flow_control_.admits(priority, first, first.head))
      set = static_cast<PrioritySet>(set & ~priority_bit(priority));
  });
  return set;
}

/// Those that are out of the pipeline, so that nothing waits behind a packet that is not; if none
/// is, those that are first.
PrioritySet Egress::ready_of(PrioritySet eligible) const {
  if ((eligible & (eligible - 1)) == 0) return eligible;
  Time earliest = Time::never();
  PrioritySet set = 0;
  for_each_priority(eligible, [&](std::uint8_t priority) {
    const Time ready = std::max(queues_[priority].front().head, scheduler_.now());
    if (ready > earliest) return;
    if (ready < earliest) set = 0;
    earliest = ready;
    set = static_cast<PrioritySet>(set | priority_bit(priority));
  });
  return set;
}

void Egress::start(std::uint8_t priority) {
  PacketQueue& queue = queues_[priority];
  PacketRef packet = queue.take();
  if (queue.empty()) nonempty_ = static_cast<PrioritySet>(nonempty_ & ~priority_bit(priority));
  if (contains(marking_, priority)) mark(*packet, priority);
  releases_ = true;
  leaving_priority_ = priority;
  leaving_ingress_ = packet->ingress;
  leaving_bytes_ = packet->frame_bytes();
  flow_control_.sent(priority, leaving_bytes_);
  if (flow_control_.has_credits())
    leaving_priority_ = std::exchange(packet->lrh.virtual_lane, priority);
  const Time ready = packet->head;
  if (packet->telemetry_bytes != 0 && is_request(packet->bth.opcode)) add_telemetry(*packet);
  put_on_wire(std::move(packet), ready);
}

/// Looks at the queue for packets that cannot be marked as well.
void Egress::mark(Packet& packet, std::uint8_t priority) {
  const Bytes waiting = owner_.waiting(port_, priority);
  ++ecn_looks_;
  ecn_waiting_ += waiting;
  ecn_most_ = std::max(ecn_most_, waiting);
  if (!is_ecn_capable(packet) || !markers_[priority].marks(waiting, random_)) return;
  packet.ipv4.ecn = Ecn::kCongestion;
  ++marked_;
}

/// What has been sent before this packet, and what waits behind it.
void Egress::add_telemetry(Packet& packet) const {
  const Bytes sent = bytes_ + (kPreambleBytes + kInterPacketGapBytes) * packets_;
  const Bytes behind = owner_.waiting(port_, leaving_priority_) - leaving_bytes_;
  packet.add_hop(HopTelemetry::of(rate_class_, scheduler_.now(), sent, behind).encode());
}

void Egress::put_on_wire(PacketRef packet, Time ready) {
  const Time begin = std::max({ready, scheduler_.now(), wire_.free_at()});
  const Time end = wire_.send(begin, packet->wire_bytes());
  if (probe.on() && packet->kind == FrameKind::kData) tell(*packet, ready, begin, end - gap_);
  packet->head = begin + preamble_;
  packet->tail = end - gap_;
  ++packets_;
  last_frame_ = packet->frame_bytes();
  bytes_ += last_frame_;
  busy_ += end - begin;
  on_wire_(begin, end, 1);
  sending_ = true;
  scheduler_.at(end, call<&Egress::sent>(this));
  tap(*packet, packet->tail, PacketDirection::kOutbound);
  link_->receive(std::move(packet));
}

/// To observers. `packet` still says when it came. What it waited while its priority was stopped
/// counts from its arrival in the queue: some of that may have passed in the pipeline.
void Egress::tell(const Packet& packet, Time ready, Time begin, Time last_bit) const {
  const Time stopped = flow_control_.stopped(packet.priority) - packet.stopped_before;
  probe(begin, ProbeKind::kPacketStarts, packet.work_request, packet.id,
        static_cast<std::uint64_t>(ready.ps()),
        static_cast<std::uint64_t>(std::min(stopped, begin - ready).ps()), packet.tcp_mark());
  probe(last_bit, ProbeKind::kPacketForwarded, packet.work_request, packet.id,
        static_cast<std::uint64_t>(packet.tail.ps()), packet.frame_bytes().count(),
        packet.tcp_mark());
}

void Egress::sent() {
  sending_ = false;
  if (releases_) owner_.left(port_, leaving_ingress_, leaving_priority_, leaving_bytes_);
  go();
}

/// The frame on the wire counts as far as it has left, its gap before its bytes.
std::uint64_t Egress::sent_by(Time at) const {
  return (bytes_ - wire_.left_at(at, last_frame_)).count();
}

void Egress::signals(const SignalScope& scope, PrioritySet lossless) {
  scope.reported("tx", {"idle", "sending"}, "whether a frame is on the wire", on_wire_);
  scope.total(
      "tx_bytes", Unit::kBytes, "frames sent, with FCS", [this](Time at) { return sent_by(at); },
      byte_time().bits_per_second());
  flow_control_.signals(scope, lossless);
}

void Egress::report(const MetricScope& scope) const {
  scope.count("tx_packets", packets_, "frames sent");
  scope.bytes("tx_bytes", bytes_, "bytes of frames sent, with FCS");
  scope.time("tx.busy", busy_, "time the wire was taken by sending");
  if (marking_ != 0) {
    scope.count("ecn_marked", marked_, "packets marked: congestion experienced");
    scope.bytes("ecn_queue.mean", ecn_looks_ == 0 ? Bytes() : ecn_waiting_ / ecn_looks_,
                "bytes waiting in queues that mark, on average of the packets that leave them");
    scope.bytes("ecn_queue.max", ecn_most_, "most of them");
  }
  flow_control_.report(scope);
}

}  // namespace rnicsim
