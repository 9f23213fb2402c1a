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
    : ways_(ways < slots ? ways : slots), replacement_(replacement), random_(seed) {
  while (slots % ways_ != 0) --ways_;
  sets_.resize(slots / ways_);
}

std::uint32_t CacheDirectory::set_of(std::uint64_t key) const {
  // Fold the high half in, so that the same page numbers of two keys spread over the sets.
  return static_cast<std::uint32_t>((key ^ (key >> 37)) % sets_.size());
}

std::optional<std::uint32_t> CacheDirectory::find(std::uint64_t key) {
  if (recent_ != nullptr && recent_->used && recent_->key == key) {
    use(*recent_);
    return recent_slot_;
  }
  const std::uint32_t index = set_of(key);
  Line* const set = sets_[index].get();
  for (std::uint32_t way = 0; set != nullptr && way < ways_; ++way) {
    if (!set[way].used || set[way].key != key) continue;
    use(set[way]);
    recent_ = set + way;
    recent_slot_ = index * ways_ + way;
    return recent_slot_;
  }
  return std::nullopt;
}

/// The way of a full set that makes room.
std::uint32_t CacheDirectory::victim(const Line* set) {
  if (replacement_ == Replacement::kRandom) return static_cast<std::uint32_t>(random_.below(ways_));
  std::uint32_t oldest = 0;
  for (std::uint32_t way = 1; way < ways_; ++way)
    if (set[way].stamp < set[oldest].stamp) oldest = way;
  return oldest;
}

CacheDirectory::Placed CacheDirectory::insert(std::uint64_t key) {
  const std::uint32_t index = set_of(key);
  if (!sets_[index]) sets_[index] = std::make_unique<Line[]>(ways_);
  Line* const set = sets_[index].get();
  std::uint32_t way = 0;
  while (way < ways_ && set[way].used) ++way;
  std::optional<std::uint64_t> evicted;
  if (way == ways_) {
    way = victim(set);
    evicted = set[way].key;
  }
  set[way] = {key, ++clock_, true};
  return {index * ways_ + way, evicted};
}

void CacheDirectory::erase(std::uint64_t key) {
  if (find(key)) recent_->used = false;
}

}  // namespace rnicsim
