// SPDX-License-Identifier: MIT
// Who a NIC port is on the wire, and the packets it makes: Ethernet, IPv4, UDP and BTH fields from
// the queue pair's context, numbered in the order they are made.
#pragma once

#include "model/nic_abi.h"
#include "model/packet.h"

namespace rnicsim {

struct PortIdentity {
  std::uint32_t number = 0;  ///< run-wide
  abi::MacAddress mac{};
  abi::Ipv4Address ip;
};

class NicPort {
 public:
  NicPort(const PortIdentity& identity, PacketPool& pool) : identity_(identity), pool_(pool) {}

  /// A packet of `qp` to its remote side. IPv4 identification counts up per NIC.
  PacketRef make(const abi::QpContext& qp, Opcode opcode, Psn psn);
  /// A datagram of queue pair `source` to where its address vector says.
  PacketRef make_datagram(const abi::QpContext& qp, const abi::DatagramSegment& to, Qpn source,
                          Opcode opcode);
  const PortIdentity& identity() const { return identity_; }

 private:
  PortIdentity identity_;
  PacketPool& pool_;
  std::uint64_t made_ = 0;
};

}  // namespace rnicsim
