// SPDX-License-Identifier: MIT
#include "model/packet.h"

#include <algorithm>

#include "model/tcp_checksum.h"

namespace rnicsim {

void Packet::allocate_payload(std::size_t bytes) {
  payload_room_ = std::max(bytes, kMaxPayloadBytes);
  payload_ = std::make_unique<std::uint8_t[]>(payload_room_);
}

void Packet::become_tcp(const TcpHeader& header, Bytes length, bool elided) {
  ipv4.protocol = kIpProtocolTcp;
  udp.source_port = header.source_port;
  udp.destination_port = header.destination_port;
  if (tcp_ == nullptr) tcp_ = std::make_unique<TcpHeader>();
  *tcp_ = header;
  payload_length = length;
  bth.pad_count = 0;
  payload_elided = elided;
  if (!elided && length.count() > payload_room_) allocate_payload(length.count());
}

namespace {

Gid gid_of(GidKind kind, Ipv4Address ip, const MacAddress& mac) {
  switch (kind) {
    case GidKind::kLinkLocal:
      return link_local_gid(mac);
    case GidKind::kUniqueLocal:
      return unique_local_gid(ip);
    case GidKind::kIpv4Mapped:
      break;
  }
  return ipv4_mapped_gid(ip);
}

}  // namespace

Grh Packet::grh() const {
  // The label from which Linux's rdma_flow_label_to_udp_sport makes this source port.
  constexpr std::uint16_t kFlowMask = 0x3fff;
  const bool roce_v1 = link_layer == LinkLayer::kRoceV1;
  Grh header;
  header.traffic_class =
      static_cast<std::uint8_t>(ipv4.dscp << 2 | static_cast<std::uint8_t>(ipv4.ecn));
  header.flow_label = udp.source_port & kFlowMask;
  header.payload_length = static_cast<std::uint16_t>(ip_bytes().count() - Grh::kBytes);
  header.next_header = roce_v1 ? kGrhNextHeaderBth : kIpProtocolUdp;
  header.hop_limit = ipv4.ttl;
  header.source = gid_of(gid_kind, ipv4.source, eth.source);
  header.destination = gid_of(gid_kind, ipv4.destination, eth.destination);
  return header;
}

namespace {

/// Writes `header` if `present`; returns where the next one goes.
template <class Header>
std::uint8_t* put(const Header& header, std::uint8_t* at, bool present = true) {
  if (!present) return at;
  header.write(at);
  return at + Header::kBytes;
}

}  // namespace

std::size_t Packet::write_headers(std::uint8_t* at) const {
  const auto ip_length = static_cast<std::uint16_t>(ip_bytes().count());
  std::uint8_t* next = at;
  if (link_layer == LinkLayer::kInfiniBand) {
    Lrh local = lrh;
    local.words = static_cast<std::uint16_t>((Lrh::kBytes + ip_length) / 4);
    next = put(local, next);
  } else if (has_grh()) {
    next = put(grh(), next);
  } else {
    Ipv4Header ip = ipv4;
    ip.total_length = ip_length;
    next = put(ip, next);
  }
  if (is_tcp()) {
    tcp_->write(next, tcp_checksum_on_wire(*this));
    return static_cast<std::size_t>(next - at) + tcp_->bytes();
  }
  if (link_layer == LinkLayer::kRoceV2) {
    UdpHeader datagram = udp;
    datagram.length = static_cast<std::uint16_t>(ip_length - (next - at));
    next = put(datagram, next);
  }
  next = put(bth, next);
  next = put(deth, next, has_deth(bth));
  next = put(reth, next, has_reth(bth.opcode));
  next = put(atomic_eth(), next, has_atomic_eth(bth.opcode));
  next = put(aeth, next, has_aeth(bth.opcode));
  next = put(atomic_ack, next, has_atomic_ack_eth(bth.opcode));
  next = put(immdt, next, has_immediate(bth.opcode));
  next = put(ieth, next, has_ieth(bth.opcode));
  return static_cast<std::size_t>(next - at);
}

const PacketFields PacketPool::kFresh{};

PacketRef PacketPool::copy(const Packet& packet) {
  PacketRef made = create();
  static_cast<PacketFields&>(*made) = packet;
  made->departed = packet.departed;
  made->copy_telemetry(packet);
  if (packet.is_tcp()) made->become_tcp(packet.tcp(), packet.payload_length, packet.payload_elided);
  if (!packet.payload_elided && packet.payload() != nullptr)
    std::copy_n(packet.payload(), packet.payload_length.count(), made->payload());
  return made;
}

void PacketPool::grow() {
  chunks_.push_back(std::make_unique<Packet[]>(kChunkPackets));
  Packet* const packets = chunks_.back().get();
  for (std::size_t i = kChunkPackets; i-- > 0;) {
    packets[i].pool_ = this;
    packets[i].next_ = free_;
    free_ = &packets[i];
  }
}

}  // namespace rnicsim
