// SPDX-License-Identifier: MIT
// What a receiver has of a stream: everything before `next`, and pieces behind it that came out of
// order; and how it tells so by SACK blocks, the piece that came last first (RFC 2018).
//
// Positions are stream positions of 64 bits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rnicsim {

class TcpReassembly {
 public:
  struct Range {
    std::uint64_t first;
    std::uint64_t behind;
  };
  enum class Result : std::uint8_t {
    kInOrder,  ///< and nothing waits behind it
    kFilled,   ///< in order, and pieces wait or have waited behind it
    kOutOfOrder,
    kOld,  ///< nothing new
  };

  std::uint64_t next() const { return next_; }
  bool has_gaps() const { return !pieces_.empty(); }
  Result add(std::uint64_t first, std::uint64_t behind);
  /// Up to `room` blocks; returns how many.
  std::uint8_t sack(Range* blocks, std::size_t room) const;

 private:
  struct Piece {
    std::uint64_t first;
    std::uint64_t behind;
    std::uint64_t stamp;  ///< when something of it came
  };
  Result keep(std::uint64_t first, std::uint64_t behind);

  std::uint64_t next_ = 1;
  std::uint64_t stamps_ = 0;
  std::vector<Piece> pieces_;  ///< in order, apart from each other
};

}  // namespace rnicsim
