// SPDX-License-Identifier: MIT
#include "model/cache_directory.h"

namespace rnicsim {

namespace {

/// As many as the slots can be divided by and the policy can manage.
std::uint32_t possible_ways(std::uint32_t slots, std::uint32_t ways, Replacement replacement) {
  if (ways > slots) ways = slots;
  while (slots % ways != 0 || !ReplacementPolicy::permits(replacement, ways)) --ways;
  return ways;
}

}  // namespace

void CacheGeometry::describe(Fields& fields) {
  fields.field("entries", entries, range(1, 1 << 24), "entries that the cache holds");
  fields.field("ways", ways, range(1, 1 << 16), "associativity");
  describe_replacement(fields, replacement);
  fields.check(ReplacementPolicy::permits(replacement, ways), "ways",
               "must be a power of two of at most 64 for \"plru\"");
}

CacheDirectory::CacheDirectory(std::uint32_t slots, std::uint32_t ways, Replacement replacement,
                               std::uint64_t seed)
    : ways_(possible_ways(slots, ways, replacement)),
      policy_(replacement, ways_, seed),
      sets_(slots / ways_) {}

std::uint32_t CacheDirectory::set_of(std::uint64_t key) const {
  // Fold the high half in, so that the same page numbers of two keys spread over the sets.
  return static_cast<std::uint32_t>((key ^ (key >> 40)) % sets_.size());
}

std::optional<std::uint32_t> CacheDirectory::find(std::uint64_t key) {
  if (recent_ != nullptr && recent_[recent_way_].used && recent_[recent_way_].key == key) {
    policy_.hit(recent_, recent_way_);
    return recent_slot_;
  }
  const std::uint32_t index = set_of(key);
  CacheLine* const set = sets_[index].get();
  for (std::uint32_t way = 0; set != nullptr && way < ways_; ++way) {
    if (!set[way].used || set[way].key != key) continue;
    policy_.hit(set, way);
    recent_ = set;
    recent_way_ = way;
    recent_slot_ = index * ways_ + way;
    return recent_slot_;
  }
  return std::nullopt;
}

bool CacheDirectory::contains(std::uint64_t key) const {
  const CacheLine* const set = sets_[set_of(key)].get();
  for (std::uint32_t way = 0; set != nullptr && way < ways_; ++way)
    if (set[way].used && set[way].key == key) return true;
  return false;
}

CacheDirectory::Placed CacheDirectory::insert(std::uint64_t key) {
  const std::uint32_t index = set_of(key);
  if (!sets_[index]) sets_[index] = std::make_unique<CacheLine[]>(ways_);
  CacheLine* const set = sets_[index].get();
  std::uint32_t way = 0;
  while (way < ways_ && set[way].used) ++way;
  std::optional<std::uint64_t> evicted;
  if (way == ways_) {
    way = policy_.victim(set);
    evicted = set[way].key;
  }
  set[way].key = key;
  set[way].used = true;
  policy_.filled(set, way);
  return {index * ways_ + way, evicted};
}

void CacheDirectory::erase(std::uint64_t key) {
  if (find(key)) recent_[recent_way_].used = false;
}

}  // namespace rnicsim
