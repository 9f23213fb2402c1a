// SPDX-License-Identifier: MIT
// Which line of a full cache set makes room: policies chosen by name.
//
//   lru     the one that was used longest ago
//   fifo    the one that came first
//   random  any
//   plru    tree of bits, one for each pair of halves: the half that was not used last
//   srrip   2-bit prediction of the next use: a new line is expected late, a used one soon
//
// Each line has one mark, whose meaning is the policy's: a stamp, or its prediction; the tree
// stands in the mark of a set's first line.
#pragma once

#include <cstdint>

#include "model/random.h"

namespace rnicsim {

class Fields;

enum class Replacement : std::uint8_t { kLru, kFifo, kRandom, kTree, kRrip };

struct CacheLine {
  std::uint64_t key = 0;
  std::uint64_t mark = 0;
  bool used = false;
};

class ReplacementPolicy {
 public:
  /// What a tree can have: its bits fit a mark.
  static constexpr std::uint32_t kMostTreeWays = 64;

  ReplacementPolicy(Replacement kind, std::uint32_t ways, std::uint64_t seed)
      : kind_(kind), ways_(ways), random_(seed) {}
  static bool permits(Replacement kind, std::uint32_t ways) {
    return kind != Replacement::kTree || (ways <= kMostTreeWays && (ways & (ways - 1)) == 0);
  }

  /// A look-up found the line.
  void hit(CacheLine* set, std::uint32_t way) {
    if (kind_ == Replacement::kLru)
      set[way].mark = ++clock_;
    else if (kind_ > Replacement::kRandom)
      hit_otherwise(set, way);
  }
  /// A key has been put there.
  void filled(CacheLine* set, std::uint32_t way);
  /// The way of a full set that makes room.
  std::uint32_t victim(CacheLine* set);

 private:
  static constexpr std::uint64_t kSoon = 0;
  static constexpr std::uint64_t kLate = 2;
  static constexpr std::uint64_t kNever = 3;
  void hit_otherwise(CacheLine* set, std::uint32_t way);
  void turn_away(std::uint64_t& tree, std::uint32_t way) const;

  Replacement kind_;
  std::uint32_t ways_;
  std::uint64_t clock_ = 0;
  Random random_;
};

/// The configuration field `replacement`.
void describe_replacement(Fields& fields, Replacement& replacement);

}  // namespace rnicsim
