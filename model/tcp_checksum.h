// SPDX-License-Identifier: MIT
// TCP's checksum over IPv4 (RFC 9293, 3.1): pseudo header, header and payload.
//
// A packet keeps it where RoCE's keep their ICRC, with the same meaning for an elided payload, so
// that seal_icrc and icrc_ok (model/icrc) serve both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/headers.h"
#include "model/packet.h"
#include "model/tcp_header.h"

namespace rnicsim {

/// TCP's checksum (RFC 9293, RFC 1071) over pseudo header, `tcp` as it is written and `payload`,
/// which null stands for zeros.
std::uint16_t compute_tcp_checksum(const Ipv4Header& ip, const TcpHeader& tcp,
                                   const std::uint8_t* payload, std::size_t length);
/// REQUIRES: packet.is_tcp(). An elided payload counts as zeros.
std::uint16_t compute_tcp_checksum(const Packet& packet);

/// What the wire has in the header: of a damaged packet with elided payload a wrong one.
std::uint16_t tcp_checksum_on_wire(const Packet& packet);

}  // namespace rnicsim
