// SPDX-License-Identifier: MIT
#include "nic/nic_port.h"

namespace rnicsim {

namespace {

WireTransport transport_of(Transport transport) {
  switch (transport) {
    case Transport::kRc:
      return WireTransport::kRc;
    case Transport::kUc:
      return WireTransport::kUc;
    case Transport::kUd:
      break;
  }
  return WireTransport::kUd;
}

GidKind gid_kind_of(const PortIdentity& port) {
  return port.link_layer == LinkLayer::kRoceV1 ? GidKind::kLinkLocal : GidKind::kUniqueLocal;
}

}  // namespace

void NicPort::address(Packet& packet, const abi::QpContext& qp) const {
  if (identity_.link_layer == LinkLayer::kInfiniBand) {
    packet.lrh = Lrh{};
    packet.lrh.service_level = qp.service_level;
    packet.lrh.destination = qp.remote_lid;
    packet.lrh.source = identity_.lid;
    return;
  }
  packet.ip_version = identity_.ip_version;
  packet.gid_kind = gid_kind_of(identity_);
  packet.eth.source = identity_.mac;
  packet.eth.destination = qp.remote_mac;
  packet.ipv4.dscp = qp.dscp;
  packet.ipv4.ecn = ecn_;
  packet.ipv4.identification = static_cast<std::uint16_t>(made_);
  packet.ipv4.source = identity_.ip;
  packet.ipv4.destination = qp.remote_ip;
  packet.udp.source_port = qp.udp_source_port;
}

PacketRef NicPort::make_frame() {
  PacketRef packet = pool_.create();
  ++made_;
  packet->id = packet_id(identity_.number, made_);
  return packet;
}

PacketRef NicPort::make(const abi::QpContext& qp, Opcode opcode, Psn psn) {
  PacketRef packet = make_frame();
  packet->link_layer = identity_.link_layer;
  address(*packet, qp);
  packet->bth.opcode = opcode;
  packet->bth.dest_qp = qp.remote_qpn;
  packet->bth.psn = psn;
  packet->bth.transport = transport_of(qp.transport);
  return packet;
}

PacketRef NicPort::make_datagram(const abi::QpContext& qp, const abi::DatagramSegment& to,
                                 Qpn source, Opcode opcode) {
  PacketRef packet = make(qp, opcode, qp.next_send_psn);
  if (identity_.link_layer == LinkLayer::kInfiniBand) {
    packet->lrh.service_level = to.service_level;
    packet->lrh.destination = to.lid;
  } else {
    packet->eth.destination = to.mac;
    packet->ipv4.dscp = to.dscp;
    packet->ipv4.destination = to.ip;
    packet->udp.source_port = to.udp_source_port;
  }
  packet->bth.dest_qp = to.qpn;
  packet->deth.q_key = to.qkey;
  packet->deth.source_qp = source;
  return packet;
}

}  // namespace rnicsim
