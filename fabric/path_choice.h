// SPDX-License-Identifier: MIT
// Which of several equally good ways a packet takes.
//
// - ecmp: by a hash of the flow (addresses and UDP source port; protocol and destination port are
//   the same for all of RoCE), salted for each switch, so that a flow keeps its way and its order.
// - spray: each packet by itself, at random; order is lost.
// - adaptive: the way with the least waiting at its egress; of equals the one that the hash takes.
#pragma once

#include <cstdint>

#include "model/packet.h"
#include "model/random.h"

namespace rnicsim {

enum class PathChoice : std::uint8_t { kEcmp, kSpray, kAdaptive };

/// The same for all packets of a flow.
inline std::uint64_t flow_hash(const Packet& packet, std::uint64_t salt) {
  const std::uint64_t addresses = static_cast<std::uint64_t>(packet.ipv4.source.value()) << 32 |
                                  packet.ipv4.destination.value();
  return Random(salt ^ addresses ^ static_cast<std::uint64_t>(packet.udp.source_port) << 17).next();
}

/// Evenly over [0, n) from the upper bits of a hash. REQUIRES: n > 0.
inline std::uint32_t pick(std::uint64_t hash, std::uint32_t n) {
  return static_cast<std::uint32_t>(static_cast<unsigned __int128>(hash) * n >> 64);
}

}  // namespace rnicsim
