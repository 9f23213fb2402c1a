// SPDX-License-Identifier: MIT
// A flow of TCP over IPv4 and its RSS hash: Toeplitz's, with the key and over the fields (source
// and destination address, source and destination port) of Microsoft's specification, whose
// verification suite it passes.
#pragma once

#include <cstdint>

#include "model/packet.h"

namespace rnicsim {

struct FlowKey {
  abi::Ipv4Address source;
  abi::Ipv4Address destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  /// REQUIRES: packet.is_tcp().
  static FlowKey of(const Packet& packet) {
    return {packet.ipv4.source, packet.ipv4.destination, packet.udp.source_port,
            packet.udp.destination_port};
  }
  std::uint32_t ports() const {
    return static_cast<std::uint32_t>(source_port) << 16 | destination_port;
  }
  friend bool operator==(const FlowKey& a, const FlowKey& b) {
    return a.source == b.source && a.destination == b.destination && a.ports() == b.ports();
  }
};

std::uint32_t flow_hash(const FlowKey& flow);

}  // namespace rnicsim
