// SPDX-License-Identifier: MIT
#include "nic/cache_directory.h"

namespace rnicsim {

void CacheGeometry::describe(Fields& fields) {
  fields.field("entries", entries, range(1, 1 << 24), "entries that the cache holds");
  fields.field("ways", ways, range(1, 1 << 16), "associativity");
  fields.choice(
      "replacement", replacement,
      {{"lru", Replacement::kLru}, {"fifo", Replacement::kFifo}, {"random", Replacement::kRandom}},
      "which entry of a full set makes room");
}

CacheDirectory::CacheDirectory(std::uint32_t slots, std::uint32_t ways, Replacement replacement,
                               std::uint64_t seed)
    : lines_(slots), ways_(ways < slots ? ways : slots), replacement_(replacement), random_(seed) {
  while (slots % ways_ != 0) --ways_;
  sets_ = slots / ways_;
}

std::uint32_t CacheDirectory::set_of(std::uint64_t key) const {
  // Fold the high half in, so that the same page numbers of two keys spread over the sets.
  return static_cast<std::uint32_t>((key ^ (key >> 37)) % sets_);
}

std::optional<std::uint32_t> CacheDirectory::find(std::uint64_t key) {
  const std::uint32_t first = set_of(key) * ways_;
  for (std::uint32_t slot = first; slot < first + ways_; ++slot) {
    Line& line = lines_[slot];
    if (line.used && line.key == key) {
      if (replacement_ == Replacement::kLru) line.stamp = ++clock_;
      return slot;
    }
  }
  return std::nullopt;
}

std::uint32_t CacheDirectory::victim(std::uint32_t first) {
  if (replacement_ == Replacement::kRandom)
    return first + static_cast<std::uint32_t>(random_.below(ways_));
  std::uint32_t oldest = first;
  for (std::uint32_t slot = first + 1; slot < first + ways_; ++slot)
    if (lines_[slot].stamp < lines_[oldest].stamp) oldest = slot;
  return oldest;
}

CacheDirectory::Placed CacheDirectory::insert(std::uint64_t key) {
  const std::uint32_t first = set_of(key) * ways_;
  Placed placed{first, std::nullopt};
  while (placed.slot < first + ways_ && lines_[placed.slot].used) ++placed.slot;
  if (placed.slot == first + ways_) {
    placed.slot = victim(first);
    placed.evicted = lines_[placed.slot].key;
  }
  lines_[placed.slot] = {key, ++clock_, true};
  return placed;
}

void CacheDirectory::erase(std::uint64_t key) {
  if (const auto slot = find(key)) lines_[*slot].used = false;
}

}  // namespace rnicsim
