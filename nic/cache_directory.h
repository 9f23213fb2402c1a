// SPDX-License-Identifier: MIT
// The tag store of every on-NIC cache: sets, ways, a replacement policy chosen by name. Knows which
// key stands in which slot; what is stored there is its owner's. Takes no time of its own: the
// owner's hit latency covers the tag comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/config_reader.h"
#include "model/random.h"

namespace rnicsim {

enum class Replacement : std::uint8_t { kLru, kFifo, kRandom };

/// Size and policy of one cache.
struct CacheGeometry {
  std::uint32_t entries = 1024;
  std::uint32_t ways = 8;
  Replacement replacement = Replacement::kLru;
  void describe(Fields& fields);
};

class CacheDirectory {
 public:
  /// REQUIRES: slots >= 1. Ways beyond the number of slots, or that do not divide it, are reduced
  /// to the next number that does.
  CacheDirectory(std::uint32_t slots, std::uint32_t ways, Replacement replacement,
                 std::uint64_t seed);

  /// The slot that holds `key`; counts as a use for LRU.
  std::optional<std::uint32_t> find(std::uint64_t key);
  struct Placed {
    std::uint32_t slot;
    std::optional<std::uint64_t> evicted;
  };
  /// Gives `key` a slot. REQUIRES: find(key) is empty.
  Placed insert(std::uint64_t key);
  void erase(std::uint64_t key);
  /// Erases every key for which `matches(key)`; walks the whole directory.
  template <class Predicate>
  void erase_if(Predicate matches) {
    for (auto& line : lines_)
      if (line.used && matches(line.key)) line.used = false;
  }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(lines_.size()); }
  std::uint32_t ways() const { return ways_; }

 private:
  struct Line {
    std::uint64_t key = 0;
    std::uint64_t stamp = 0;
    bool used = false;
  };
  std::uint32_t set_of(std::uint64_t key) const;
  std::uint32_t victim(std::uint32_t first);

  std::vector<Line> lines_;
  std::uint32_t ways_;
  std::uint32_t sets_;
  Replacement replacement_;
  std::uint64_t clock_ = 0;
  Random random_;
};

}  // namespace rnicsim
