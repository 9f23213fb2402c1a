// SPDX-License-Identifier: MIT
// The tag store of every on-NIC cache: sets, ways, a replacement policy chosen by name. Knows which
// key stands in which slot; what is stored there is its owner's. Takes no time of its own: the
// owner's hit latency covers the tag comparison. A set's memory exists once it is used.
#pragma once

#include <cstdint>
#include <memory>
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
    for (const auto& set : sets_)
      for (std::uint32_t way = 0; set && way < ways_; ++way)
        if (set[way].used && matches(set[way].key)) set[way].used = false;
  }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(sets_.size()) * ways_; }
  std::uint32_t ways() const { return ways_; }

 private:
  struct Line {
    std::uint64_t key = 0;
    std::uint64_t stamp = 0;
    bool used = false;
  };
  std::uint32_t set_of(std::uint64_t key) const;
  std::uint32_t victim(const Line* set);
  void use(Line& line) {
    if (replacement_ == Replacement::kLru) line.stamp = ++clock_;
  }

  std::uint32_t ways_;
  Replacement replacement_;
  std::vector<std::unique_ptr<Line[]>> sets_;
  Line* recent_ = nullptr;  ///< that was found last: as a rule it is asked for again
  std::uint32_t recent_slot_ = 0;
  std::uint64_t clock_ = 0;
  Random random_;
};

}  // namespace rnicsim
