// SPDX-License-Identifier: MIT
// Who a NIC port is on the wire, and the packets it makes: Ethernet, network and BTH fields, or LRH
// and BTH fields of InfiniBand, from the queue pair's context, numbered in the order they are made.
//
// GIDs follow from the addresses: of RoCEv1 link-local ones, which is the default GID of a port; of
// RoCEv2 over IPv6 unique local ones, which routers forward. Left out: a port with several GIDs.
#pragma once

#include "model/nic_abi.h"
#include "model/packet.h"

namespace rnicsim {

struct PortIdentity {
  std::uint32_t number = 0;  ///< run-wide
  abi::MacAddress mac{};
  abi::Ipv4Address ip;
  Lid lid = 0;  ///< of InfiniBand
  LinkLayer link_layer = LinkLayer::kRoceV2;
  IpVersion ip_version = IpVersion::kIpv4;  ///< of RoCEv2
};

class NicPort {
 public:
  NicPort(const PortIdentity& identity, PacketPool& pool) : identity_(identity), pool_(pool) {}

  /// From now on packets say that they are.
  void make_ecn_capable() { ecn_ = Ecn::kCapable0; }
  /// A packet of `qp` to its remote side. IPv4 identification counts up per NIC.
  PacketRef make(const abi::QpContext& qp, Opcode opcode, Psn psn);
  /// A datagram of queue pair `source` to where its address vector says.
  PacketRef make_datagram(const abi::QpContext& qp, const abi::DatagramSegment& to, Qpn source,
                          Opcode opcode);
  /// A packet that says nothing yet but its number: a plain frame's, whose headers are software's.
  PacketRef make_frame();
  const PortIdentity& identity() const { return identity_; }

 private:
  void address(Packet& packet, const abi::QpContext& qp) const;

  PortIdentity identity_;
  PacketPool& pool_;
  Ecn ecn_ = Ecn::kNotCapable;
  std::uint64_t made_ = 0;
};

}  // namespace rnicsim
