// SPDX-License-Identifier: MIT
#include "nic/mac_tx.h"

#include <algorithm>

#include "model/icrc.h"

namespace rnicsim {

void MacTxConfig::describe(Fields& fields) {
  fields.field("response_queue", response_queue, range(1, 1 << 16),
               "acknowledgements and responses of a priority that wait for the wire");
  fields.field("cut_through", cut_through,
               "a packet begins to leave before its payload has been read wholly from the host");
}

MacTx::MacTx(const Wiring& wiring, const MacTxConfig& config, const PortConfig& port)
    : scheduler_(wiring.scheduler),
      mac_(wiring.mac),
      link_layer_(wiring.link_layer),
      config_(config),
      priorities_(PriorityMap::on(link_layer_, port.priorities, wiring.credit.data_lanes)),
      vlan_(port.vlan),
      rate_(wiring.rate),
      lossless_(port.lossless_set()),
      wire_(wiring.rate),
      preamble_(wire_.byte_time().of(preamble_bytes(link_layer_))),
      gap_(wire_.byte_time().of(gap_bytes(link_layer_))),
      arbiter_(port.weights),
      credit_(make_credit(wiring)),
      flow_control_({wiring.scheduler, wiring.packets, wiring.rate, wiring.mac, link_layer_,
                     credit_.get(), call<&MacTx::arm>(this)},
                    port.pause) {}

/// Null on Ethernet.
std::unique_ptr<CreditLink> MacTx::make_credit(const Wiring& wiring) {
  if (wiring.link_layer != LinkLayer::kInfiniBand) return nullptr;
  return std::make_unique<CreditLink>(
      CreditLink::Wiring{wiring.scheduler, wiring.rate, wiring.receive_buffer,
                         "mac_rx.receive_buffer", wiring.largest_packet, wiring.name,
                         call<&MacTx::arm>(this)},
      wiring.credit);
}

/// When the first of them may leave.
Time MacTx::Queues::ready() const {
  Time ready = Time::never();
  for (const auto& queue : of)
    if (!queue.empty()) ready = std::min(ready, queue.front().ready);
  return ready;
}

/// Which of them is next. REQUIRES: ready() <= at.
MacTx::Queue MacTx::Queues::next(Time at) const {
  const bool response = is_ready(Queue::kResponse, at);
  if (is_ready(Queue::kFrame, at) &&
      (frames_ahead < 0 || (!response && !is_ready(Queue::kRequest, at))))
    return Queue::kFrame;
  return response ? Queue::kResponse : Queue::kRequest;
}

/// A frame of it leaves. Who has nothing ready now gives up what it has not sent.
void MacTx::Queues::sent(Queue queue, Bytes frame, Time now) {
  const bool plain = queue == Queue::kFrame;
  const bool other = plain ? is_ready(Queue::kResponse, now) || is_ready(Queue::kRequest, now)
                           : is_ready(Queue::kFrame, now);
  const auto bytes = static_cast<std::int64_t>(frame.count());
  frames_ahead = other ? frames_ahead + (plain ? bytes : -bytes) : 0;
}

void MacTx::enqueue(PacketRef packet, Time ready, Queue queue, Epoch epoch, Time lead) {
  if (!packet->is_tcp()) seal_icrc(*packet);  // its checksum is its sender's
  Time begin = ready;
  if (config_.cut_through && lead != Time()) {
    begin = ready - std::min(lead, wire_.byte_time().of(packet->payload_length));
    ready = std::max(begin, scheduler_.now());
  }
  const std::uint8_t priority = priorities_.of(*packet);
  packet->priority = priority;
  if (credit_ != nullptr) packet->lrh.virtual_lane = priority;
  if (vlan_) {
    packet->tagged = true;
    packet->vlan.priority = priority;
    packet->vlan.id = *vlan_;
  }
  auto& waiting = queues_[priority].at(queue);
  const Time stopped = probe.on() ? flow_control_.stopped(priority) : Time();
  waiting.push({std::move(packet), ready, begin, epoch, stopped});
  nonempty_ = static_cast<PrioritySet>(nonempty_ | priority_bit(priority));
  if (queue == Queue::kResponse) ++responses_[priority];
  most_queued_ = std::max(most_queued_, waiting.size());
  arm();
}

/// One event for the earliest time at which something may start.
void MacTx::arm() {
  flow_control_.note_waiting(nonempty_);
  Time ready = flow_control_.frame_is_due() ? scheduler_.now() : Time::never();
  for_each_priority(may_send(), [&](std::uint8_t priority) {
    ready = std::min(ready, queues_[priority].ready());
  });
  if (ready == Time::never()) return;
  const Time at = std::max({ready, wire_.free_at(), scheduler_.now()});
  if (at >= armed_) return;
  armed_ = at;
  scheduler_.at(at, call<&MacTx::start>(this));
}

void MacTx::start() {
  const Time now = scheduler_.now();
  if (armed_ == now) armed_ = Time::never();
  if (wire_.free_at() <= now && flow_control_.frame_is_due()) {
    put_on_wire(flow_control_.take_frame(), scheduler_.now());
  } else if (wire_.free_at() <= now) {
    for_each_priority(nonempty_, [&](std::uint8_t priority) {
      drop_void(priority, Queue::kResponse);
      drop_void(priority, Queue::kRequest);
      note_empty(priority);
    });
    const int priority = arbiter_.choose(ready_ones(now), nonempty_, [&](std::uint8_t p) {
      return queues_[p].at(queues_[p].next(now)).front().packet->frame_bytes();
    });
    if (priority >= 0) send(static_cast<std::uint8_t>(priority));
  }
  arm();
}

PrioritySet MacTx::ready_ones(Time at) {
  unsigned set = 0;
  for_each_priority(may_send(), [&](std::uint8_t priority) {
    if (queues_[priority].ready() <= at && has_credit(priority, at)) set |= priority_bit(priority);
  });
  return static_cast<PrioritySet>(set);
}

/// REQUIRES: something of this priority is ready.
bool MacTx::has_credit(std::uint8_t priority, Time at) {
  if (!flow_control_.has_credits()) return true;
  Queues& queues = queues_[priority];
  const Waiting& first = queues.at(queues.next(at)).front();
  return flow_control_.admits(priority, *first.packet, first.ready);
}

void MacTx::send(std::uint8_t priority) {
  Queues& queues = queues_[priority];
  const Queue which = queues.next(scheduler_.now());
  Waiting waiting = queues.at(which).take();
  queues.sent(which, waiting.packet->frame_bytes(), scheduler_.now());
  note_empty(priority);
  const Time now = scheduler_.now();
  waited_ += now - waiting.ready;
  if (probe.on()) tell_start(waiting, priority);
  const Packet& packet = *waiting.packet;
  const bool plain = which == Queue::kFrame;
  const Bytes payload = plain ? packet.ip_bytes() : packet.payload_length;
  count_parts(packet, packet.frame_bytes());
  flow_control_.sent(priority, packet.frame_bytes());
  put_on_wire(std::move(waiting.packet), now == waiting.ready ? waiting.begin : now);
  if (plain)
    tell(frame_started_, {payload, priority});
  else
    freed(which, {payload, priority});
}

/// To observers: it takes the wire now, or could have at once.
void MacTx::tell_start(const Waiting& waiting, std::uint8_t priority) const {
  const Time now = scheduler_.now();
  const Packet& packet = *waiting.packet;
  const Time begin = now == waiting.ready ? waiting.begin : now;
  const Time ready = std::min(begin, waiting.ready);
  const Time stopped = flow_control_.stopped(priority) - waiting.stopped;
  probe(begin, ProbeKind::kPacketStarts, packet.work_request, packet.id,
        static_cast<std::uint64_t>(ready.ps()),
        static_cast<std::uint64_t>(std::min(stopped, begin - ready).ps()), packet.tcp_mark());
}

/// `from`: not after now.
void MacTx::put_on_wire(PacketRef packet, Time from) {
  const Time begin = std::max(from, wire_.free_at());
  const Bytes frame = packet->frame_bytes();
  const Bytes on_wire = packet->wire_bytes();
  const Time end = wire_.send(begin, on_wire);
  packet->head = begin + preamble_;
  packet->tail = end - gap_;
  if (packet->departed == Time::never()) packet->departed = packet->tail;
  ++packets_;
  bytes_ += frame;
  last_frame_ = frame;
  wire_bytes_ += on_wire;
  busy_ += end - begin;
  sending_(begin, end, 1);
  if (packet->kind == FrameKind::kData && probe.on())
    probe(packet->tail, ProbeKind::kPacketSent, packet->work_request, packet->id,
          static_cast<std::uint64_t>(packet->head.ps()), frame.count(), packet->tcp_mark());
  tap(*packet, packet->tail, PacketDirection::kOutbound);
  link_->receive(std::move(packet));
}

void MacTx::note_empty(std::uint8_t priority) {
  if (queues_[priority].empty())
    nonempty_ = static_cast<PrioritySet>(nonempty_ & ~priority_bit(priority));
}

/// What is to be sent again, or not at all, need not leave.
void MacTx::drop_void(std::uint8_t priority, Queue which) {
  auto& queue = queues_[priority].at(which);
  while (!queue.empty() && queue.front().epoch.is_over()) {
    const Bytes payload = queue.front().packet->payload_length;
    queue.pop();
    ++void_;
    freed(which, {payload, priority});
  }
}

void MacTx::freed(Queue queue, Started started) {
  if (queue == Queue::kResponse) --responses_[started.priority];
  if (queue == Queue::kRequest) tell(request_started_, started);
  if (queue == Queue::kResponse && response_started_) response_started_();
}

void MacTx::count_parts(const Packet& packet, Bytes frame) {
  const Bytes filled = link_layer_ == LinkLayer::kInfiniBand
                           ? frame
                           : packet.ethernet_bytes() + packet.ip_bytes() + kFcsBytes;
  ++data_packets_;
  payload_bytes_ += packet.payload_length;
  padding_bytes_ += frame - filled + Bytes(packet.bth.pad_count);
  network_bytes_ += Bytes(packet.is_tcp() ? Ipv4Header::kBytes : packet.network_header_bytes());
}

/// The frame on the wire counts as far as it has left, its gap before its bytes.
std::uint64_t MacTx::sent_by(Time at) const {
  return (bytes_ - wire_.left_at(at, last_frame_)).count();
}

void MacTx::signals(const SignalScope& scope) {
  scope.reported("tx", {"idle", "sending"}, "whether a frame is on the wire", sending_);
  scope.level("tx_queued", Unit::kCount, "packets that wait to leave", [this] {
    std::size_t sum = 0;
    for (const Queues& queues : queues_)
      for (const auto& queue : queues.of) sum += queue.size();
    return sum;
  });
  scope.total(
      "tx_bytes", Unit::kBytes, "frames sent, with FCS", [this](Time at) { return sent_by(at); },
      rate_.numerator() / rate_.denominator());
  flow_control_.signals(scope, lossless_);
}

void MacTx::report(const MetricScope& scope) const {
  const bool infiniband = credit_ != nullptr;
  const Bytes control =
      (infiniband ? Bytes(CreditPacket::kBytes) : kMinFrameBytes) * (packets_ - data_packets_);
  const Bytes headers = bytes_ - payload_bytes_ - padding_bytes_ - control;
  const Bytes tag(vlan_ ? VlanTag::kBytes : 0);
  const Bytes link = (link_header_bytes(link_layer_) + tag) * data_packets_;
  scope.count("tx_packets", packets_, "Ethernet frames sent");
  scope.bytes("tx_bytes", bytes_, "bytes of Ethernet frames sent, with FCS");
  scope.bytes("tx_wire_bytes", wire_bytes_, "the same with preamble and inter-packet gap");
  scope.bytes("tx_payload_bytes", payload_bytes_, "of tx_bytes: payload");
  scope.bytes("tx_padding_bytes", padding_bytes_,
              "of tx_bytes: what fills words of four bytes and frames of 64");
  scope.bytes("tx_header_bytes", headers, "of tx_bytes: headers, ICRC and FCS");
  if (infiniband)
    scope.bytes("tx_headers.local", link, "of tx_header_bytes: LRH and VCRC");
  else
    scope.bytes("tx_headers.ethernet", link, "of tx_header_bytes: Ethernet header, tag and FCS");
  scope.bytes("tx_headers.network", network_bytes_, "of tx_header_bytes: IP and UDP, or GRH");
  scope.bytes("tx_headers.transport", headers - link - network_bytes_,
              "of tx_header_bytes: BTH, extension headers and ICRC, or TCP");
  if (infiniband)
    scope.bytes("tx_flow_control_bytes", control, "of tx_bytes: flow control packets");
  else
    scope.bytes("tx_pause_bytes", control, "of tx_bytes: pause frames");
  scope.count("tx_void", void_, "packets that had become void before they left");
  scope.time("tx.busy", busy_, "time the wire was taken by sending");
  scope.time("tx.stalled.wire", waited_,
             "sum over packets of the wait for the wire, paused or without credit or not");
  scope.count("tx.occupancy.max", most_queued_, "most packets waiting in one queue");
  flow_control_.report(scope);
}

}  // namespace rnicsim
