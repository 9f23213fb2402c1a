// SPDX-License-Identifier: MIT
#include "nic/nic_port.h"

namespace rnicsim {

PacketRef NicPort::make(const abi::QpContext& qp, Opcode opcode, Psn psn) {
  PacketRef packet = pool_.create();
  ++made_;
  packet->id = packet_id(identity_.number, made_);
  packet->eth.source = identity_.mac;
  packet->eth.destination = qp.remote_mac;
  packet->ipv4.dscp = qp.dscp;
  packet->ipv4.ecn = Ecn::kCapable0;
  packet->ipv4.identification = static_cast<std::uint16_t>(made_);
  packet->ipv4.source = identity_.ip;
  packet->ipv4.destination = qp.remote_ip;
  packet->udp.source_port = qp.udp_source_port;
  packet->bth.opcode = opcode;
  packet->bth.dest_qp = qp.remote_qpn;
  packet->bth.psn = psn;
  return packet;
}

}  // namespace rnicsim
