// SPDX-License-Identifier: MIT
// The tag store of a cache (the NIC's, the IO-TLB): sets, ways, a policy (model/replacement). Knows
// which key stands in which slot; what is stored there is its owner's. Takes no time of its own:
// the owner's hit latency covers the tag comparison. A set's memory exists once it is used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/config_reader.h"
#include "model/replacement.h"

namespace rnicsim {

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

  /// The slot that holds `key`; counts as a use.
  std::optional<std::uint32_t> find(std::uint64_t key);
  /// The same without counting as one.
  bool contains(std::uint64_t key) const;
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
  std::uint32_t set_of(std::uint64_t key) const;

  std::uint32_t ways_;
  ReplacementPolicy policy_;
  std::vector<std::unique_ptr<CacheLine[]>> sets_;
  CacheLine* recent_ = nullptr;  ///< the set of what was found last, which is asked for again
  std::uint32_t recent_way_ = 0;
  std::uint32_t recent_slot_ = 0;
};

}  // namespace rnicsim
