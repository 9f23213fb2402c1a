// SPDX-License-Identifier: MIT
#include "model/replacement.h"

#include "model/config_reader.h"

namespace rnicsim {

void describe_replacement(Fields& fields, Replacement& replacement) {
  fields.choice("replacement", replacement,
                {{"lru", Replacement::kLru},
                 {"fifo", Replacement::kFifo},
                 {"random", Replacement::kRandom},
                 {"plru", Replacement::kTree},
                 {"srrip", Replacement::kRrip}},
                "which entry of a full set makes room");
}

void ReplacementPolicy::hit_otherwise(CacheLine* set, std::uint32_t way) {
  if (kind_ == Replacement::kTree)
    turn_away(set[0].mark, way);
  else
    set[way].mark = kSoon;
}

void ReplacementPolicy::filled(CacheLine* set, std::uint32_t way) {
  switch (kind_) {
    case Replacement::kLru:
    case Replacement::kFifo:
      set[way].mark = ++clock_;
      return;
    case Replacement::kTree:
      return turn_away(set[0].mark, way);
    case Replacement::kRrip:
      set[way].mark = kLate;
      return;
    case Replacement::kRandom:
      return;
  }
}

/// Every node on the way to the line points to the other half. Node n has the children 2n, 2n + 1.
void ReplacementPolicy::turn_away(std::uint64_t& tree, std::uint32_t way) const {
  for (std::uint32_t node = way + ways_; node > 1; node /= 2) {
    const std::uint64_t bit = std::uint64_t{1} << node / 2;
    tree = node % 2 == 0 ? tree | bit : tree & ~bit;
  }
}

std::uint32_t ReplacementPolicy::victim(CacheLine* set) {
  if (kind_ == Replacement::kRandom) return static_cast<std::uint32_t>(random_.below(ways_));
  if (kind_ == Replacement::kTree) {
    std::uint32_t node = 1;
    while (node < ways_) node = 2 * node + (set[0].mark >> node & 1);
    return node - ways_;
  }
  if (kind_ == Replacement::kRrip) {
    for (;;) {
      for (std::uint32_t way = 0; way < ways_; ++way)
        if (set[way].mark == kNever) return way;
      for (std::uint32_t way = 0; way < ways_; ++way) ++set[way].mark;
    }
  }
  std::uint32_t oldest = 0;
  for (std::uint32_t way = 1; way < ways_; ++way)
    if (set[way].mark < set[oldest].mark) oldest = way;
  return oldest;
}

}  // namespace rnicsim
