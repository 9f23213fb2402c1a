// SPDX-License-Identifier: MIT
// The bytes of a whole frame, Ethernet's or InfiniBand's, from a packet, and the packet from the
// bytes: for captures and tests. The simulation itself carries packets decoded and never comes
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/packet.h"

namespace rnicsim {

enum class WithFcs : bool { kNo, kYes };

/// Replaces `frame` by the bytes from destination address to FCS, or to what is before it. An
/// elided payload reads zeros. Of InfiniBand from LRH to VCRC, which is wrong if the packet was
/// damaged, or a flow control packet with its CRC; captures of it have all of that.
void write_frame(const Packet& packet, std::vector<std::uint8_t>& frame,
                 WithFcs with_fcs = WithFcs::kNo);

/// Takes a frame without FCS apart into a fresh packet, payload carried, ICRC as it is on the wire
/// (icrc_ok tells if it is right). Null, or what makes the bytes no frame that a packet can stand
/// for; then `packet` is in no definite state.
///
/// A UDP source port that is not on the wire (RoCEv1) is taken from the flow label. Not looked at:
/// the flow label of IPv6, which a router may set, and what follows the IP packet.
const char* read_frame(const std::uint8_t* frame, std::size_t size, Packet& packet);

/// The same of InfiniBand's bytes from LRH to VCRC, which must be right. Not looked at: the virtual
/// lane, of which every link makes its own.
const char* read_infiniband(const std::uint8_t* frame, std::size_t size, Packet& packet);

}  // namespace rnicsim
