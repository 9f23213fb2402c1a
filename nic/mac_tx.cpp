// SPDX-License-Identifier: MIT
#include "nic/mac_tx.h"

#include <algorithm>

#include "model/icrc.h"

namespace rnicsim {

void MacTxConfig::describe(Fields& fields) {
  fields.field("response_queue", response_queue, range(1, 1 << 16),
               "acknowledgements and responses that wait for the wire");
}

void MacTx::enqueue(PacketRef packet, Time ready, Queue queue, Epoch epoch) {
  seal_icrc(*packet);
  auto& waiting = queues_[static_cast<std::size_t>(queue)];
  waiting.push({std::move(packet), ready, epoch});
  most_queued_ = std::max(most_queued_, waiting.size());
  arm();
}

/// One event for the earliest time at which something may start.
void MacTx::arm() {
  Time ready = Time::never();
  for (const auto& queue : queues_)
    if (!queue.empty()) ready = std::min(ready, queue.front().ready);
  if (ready == Time::never()) return;
  const Time at = std::max({ready, wire_.free_at(), scheduler_.now()});
  if (at >= armed_) return;
  armed_ = at;
  scheduler_.at(at, call<&MacTx::start>(this));
}

Ring<MacTx::Waiting>* MacTx::next_queue(Time at) {
  for (auto& queue : queues_)
    if (!queue.empty() && queue.front().ready <= at) return &queue;
  return nullptr;
}

void MacTx::start() {
  const Time now = scheduler_.now();
  if (armed_ == now) armed_ = Time::never();
  if (wire_.free_at() > now) {
    arm();
    return;
  }
  drop_void(Queue::kResponse);
  drop_void(Queue::kRequest);
  Ring<Waiting>* queue = next_queue(now);
  if (queue == nullptr) {
    arm();
    return;
  }
  const auto which = static_cast<Queue>(queue - queues_.data());
  Waiting waiting = queue->take();
  Packet& packet = *waiting.packet;
  waited_ += now - waiting.ready;
  const Bytes frame = packet.frame_bytes();
  const Bytes on_wire = packet.wire_bytes();
  const Time end = wire_.send(now, on_wire);
  packet.head = now + preamble_;
  packet.tail = end - gap_;
  ++packets_;
  bytes_ += frame;
  wire_bytes_ += on_wire;
  count_parts(packet, frame);
  busy_ += end - now;
  probe(packet.tail, ProbeKind::kPacketSent, packet.work_request, packet.id,
        static_cast<std::uint64_t>(packet.head.ps()), frame.count());
  tap(packet, packet.tail, PacketDirection::kOutbound);
  const Bytes payload = packet.payload_length;
  link_->receive(std::move(waiting.packet));
  freed(which, payload);
  arm();
}

/// What is to be sent again, or not at all, need not leave.
void MacTx::drop_void(Queue which) {
  auto& queue = queues_[static_cast<std::size_t>(which)];
  while (!queue.empty() && queue.front().epoch.is_over()) {
    const Bytes payload = queue.front().packet->payload_length;
    queue.pop();
    ++void_;
    freed(which, payload);
  }
}

void MacTx::freed(Queue queue, Bytes payload) {
  if (queue == Queue::kRequest && request_started_)
    request_started_.function(request_started_.object, payload.count());
  if (queue == Queue::kResponse && response_started_) response_started_();
}

void MacTx::count_parts(const Packet& packet, Bytes frame) {
  const Bytes filled = Bytes(EthernetHeader::kBytes) + packet.ip_bytes() + kFcsBytes;
  payload_bytes_ += packet.payload_length;
  padding_bytes_ += frame - filled + Bytes(packet.bth.pad_count);
  network_bytes_ += Bytes(packet.network_header_bytes());
}

void MacTx::report(const MetricScope& scope) const {
  const Bytes headers = bytes_ - payload_bytes_ - padding_bytes_;
  const Bytes ethernet((EthernetHeader::kBytes + kFcsBytes.count()) * packets_);
  scope.count("tx_packets", packets_, "Ethernet frames sent");
  scope.bytes("tx_bytes", bytes_, "bytes of Ethernet frames sent, with FCS");
  scope.bytes("tx_wire_bytes", wire_bytes_, "the same with preamble and inter-packet gap");
  scope.bytes("tx_payload_bytes", payload_bytes_, "of tx_bytes: payload");
  scope.bytes("tx_padding_bytes", padding_bytes_,
              "of tx_bytes: what fills words of four bytes and frames of 64");
  scope.bytes("tx_header_bytes", headers, "of tx_bytes: headers, ICRC and FCS");
  scope.bytes("tx_headers.ethernet", ethernet, "of tx_header_bytes: Ethernet header and FCS");
  scope.bytes("tx_headers.network", network_bytes_, "of tx_header_bytes: IP and UDP, or GRH");
  scope.bytes("tx_headers.transport", headers - ethernet - network_bytes_,
              "of tx_header_bytes: BTH, extension headers and ICRC");
  scope.count("tx_void", void_, "packets that had become void before they left");
  scope.time("tx.busy", busy_, "time the wire was taken by sending");
  scope.time("tx.stalled.wire", waited_, "sum over packets of the wait for the wire");
  scope.count("tx.occupancy.max", most_queued_, "most packets waiting in one queue");
}

}  // namespace rnicsim
