// SPDX-License-Identifier: MIT
// The invariant CRC (IBTA 7.8.1, annexes A16 and A17.3.3): Ethernet's CRC-32 over InfiniBand's LRH,
// or eight bytes of ones that stand for it in RoCE, then IP header and UDP header, or GRH, BTH and
// extension headers, payload and pad, with the fields that a switch or router may change read as
// ones: of the LRH the virtual lane; of IPv4 DSCP and ECN, TTL and checksum; of IPv6 and GRH
// traffic class, flow label and hop limit; UDP's checksum; BTH's byte of FECN and BECN.
//
// Stored on the wire least significant byte first. A packet with elided payload has no bytes to
// check: seal_icrc and icrc_ok take no time for it, and compute_icrc takes its payload as zeros. Of
// a segment of TCP all three mean TCP's checksum.
#pragma once

#include <cstdint>

#include "model/packet.h"

namespace rnicsim {

std::uint32_t compute_icrc(const Packet& packet);

/// What the sender does once headers and payload are final.
inline void seal_icrc(Packet& packet) {
  packet.icrc = packet.payload_elided ? 0 : compute_icrc(packet);
}

/// What the receiver asks.
inline bool icrc_ok(const Packet& packet) {
  return packet.icrc == (packet.payload_elided ? 0 : compute_icrc(packet));
}

}  // namespace rnicsim
