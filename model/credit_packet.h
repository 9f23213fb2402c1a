// SPDX-License-Identifier: MIT
// InfiniBand's flow control packet (IBTA volume 1, 7.9.4): what one end of a link tells the other
// of a virtual lane, in blocks of 64 B counted since the link came up: how many it has sent, and up
// to which count it may be sent to. Counts are modulo 4,096.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/units.h"

namespace rnicsim {

inline constexpr std::uint64_t kCreditBlockBytes = 64;
/// Counts of blocks have twelve bits, and a limit is at most half of that ahead.
inline constexpr std::uint32_t kCreditMask = 0xfff;
inline constexpr std::uint32_t kMostCredit = 2048;

struct CreditPacket {
  /// Operation, total sent, lane, limit; the link packet CRC, which is that of the VCRC.
  static constexpr std::size_t kBytes = 4 + 2;
  static constexpr std::uint8_t kNormal = 0;      ///< operation
  static constexpr std::uint8_t kInitialise = 1;  ///< while the link comes up

  std::uint8_t operation = kNormal;
  std::uint8_t lane = 0;
  std::uint16_t total_sent = 0;  ///< FCTBS
  std::uint16_t limit = 0;       ///< FCCL
  /// With the CRC.
  void write(std::uint8_t* at) const;
  /// Null, or why the bytes are no flow control packet.
  static const char* read(const std::uint8_t* at, std::size_t size, CreditPacket& packet);
};

/// Blocks that a packet of `bytes`, LRH to VCRC, counts as.
constexpr std::uint32_t credit_blocks(Bytes bytes) {
  return static_cast<std::uint32_t>((bytes.count() + kCreditBlockBytes - 1) / kCreditBlockBytes);
}

}  // namespace rnicsim
