// SPDX-License-Identifier: MIT
#include "host/last_level_cache.h"

#include <algorithm>

namespace rnicsim {

namespace {
constexpr std::size_t kAbsent = ~std::size_t{0};
}

void LastLevelCacheConfig::describe(Fields& fields) {
  const auto latencies = range(Time(), Time::us(100));
  fields.field("size", size, range(Bytes(0), Bytes(1ULL << 30)),
               "last-level cache of a socket; 0 B: none, every DMA request meets DRAM");
  fields.field("ways", ways, range(1, 64), "its ways");
  fields.field("ddio_ways", ddio_ways, range(0, 64),
               "ways that DMA writes may take places in; 0: DDIO is off, they go to DRAM");
  fields.field("read_latency", read_latency, latencies,
               "from a DMA read at the memory controller to its data, if they are in the cache");
  fields.field("write_latency", write_latency, latencies,
               "from a DMA write's last byte there to a CPU seeing it, if it stays in the cache");
  fields.field("eviction_latency", eviction_latency, latencies,
               "more for a DMA write that has to displace a modified line");
  fields.check(ddio_ways <= ways, "ddio_ways", "must not exceed ways");
  fields.check(size == Bytes() || sets() != 0, "size", "must hold a line of 64 B in each way");
}

std::uint64_t LastLevelCacheConfig::sets() const {
  return size.count() / (LastLevelCache::kLineBytes * ways);
}

LastLevelCache::LastLevelCache(const LastLevelCacheConfig& config)
    : config_(config),
      sets_(config.sets()),
      tags_(sets_ * config.ways, kEmpty),
      used_(sets_ * config.ways) {}

std::size_t LastLevelCache::find(std::uint64_t line) const {
  const std::size_t begin = begin_of(line);
  const auto tag = static_cast<std::uint32_t>(line / sets_);
  for (std::size_t at = begin; at < begin + config_.ways; ++at)
    if (tags_[at] == tag) return at;
  return kAbsent;
}

/// An empty place before any other.
std::size_t LastLevelCache::oldest(std::size_t begin, std::uint32_t ways) const {
  std::size_t found = begin;
  for (std::size_t at = begin; at < begin + ways; ++at) {
    if (tags_[at] == kEmpty) return at;
    if (used_[at] < used_[found]) found = at;
  }
  return found;
}

void LastLevelCache::touch(std::size_t at, std::uint32_t modified) {
  clock_ += 2;
  // After 2^31 touches all ages begin anew.
  if (clock_ == 0)
    for (std::uint32_t& used : used_) used &= kModified;
  used_[at] = clock_ | modified;
}

bool LastLevelCache::read(std::uint64_t line) {
  const std::size_t at = find(line);
  ++(at == kAbsent ? read_misses_ : read_hits_);
  if (at != kAbsent) touch(at, used_[at] & kModified);
  return at != kAbsent;
}

LastLevelCache::Write LastLevelCache::write(std::uint64_t line) {
  const std::size_t at = find(line);
  if (config_.ddio_ways == 0) {
    ++passed_;
    if (at != kAbsent) tags_[at] = kEmpty;
    return {Landing::kPassed, 0};
  }
  if (at != kAbsent) {
    ++updates_;
    touch(at, kModified);
    return {Landing::kUpdated, 0};
  }
  ++allocations_;
  const std::size_t place = oldest(begin_of(line), config_.ddio_ways);
  const std::optional<std::uint64_t> displaced = modified_at(place, line);
  if (displaced) ++write_backs_;
  tags_[place] = static_cast<std::uint32_t>(line / sets_);
  touch(place, kModified);
  return {displaced ? Landing::kDisplaced : Landing::kAllocated, displaced.value_or(0)};
}

std::optional<std::uint64_t> LastLevelCache::modified_at(std::size_t place,
                                                         std::uint64_t line) const {
  if (tags_[place] == kEmpty || (used_[place] & kModified) == 0) return std::nullopt;
  return tags_[place] * sets_ + line % sets_;
}

LastLevelCache::Fill LastLevelCache::fill(std::uint64_t line, std::uint32_t modified) {
  std::size_t at = find(line);
  if (at != kAbsent) {
    touch(at, modified | (used_[at] & kModified));
    return {true, std::nullopt};
  }
  at = oldest(begin_of(line), config_.ways);
  const std::optional<std::uint64_t> displaced = modified_at(at, line);
  tags_[at] = static_cast<std::uint32_t>(line / sets_);
  touch(at, modified);
  return {false, displaced};
}

void LastLevelCache::flush() { std::fill(tags_.begin(), tags_.end(), kEmpty); }

void LastLevelCache::report(const MetricScope& scope) const {
  scope.count("read_hits", read_hits_, "lines that DMA reads found in the cache");
  scope.count("read_misses", read_misses_, "lines that DMA reads did not find there");
  scope.count("write_updates", updates_, "lines that DMA writes found in the cache");
  scope.count("write_allocations", allocations_, "lines that DMA writes took a DDIO place for");
  scope.count("write_backs", write_backs_, "modified lines that DMA writes sent to DRAM thereby");
  scope.count("writes_passed", passed_, "lines that DMA wrote to DRAM, as DDIO is off");
}

}  // namespace rnicsim
