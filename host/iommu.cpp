// SPDX-License-Identifier: MIT
#include "host/iommu.h"

#include <algorithm>

namespace rnicsim {

void IommuConfig::describe(Fields& fields) {
  fields.choice("mode", mode,
                {{"passthrough", IommuMode::kPassthrough}, {"translate", IommuMode::kTranslate}},
                "whether DMA addresses are translated");
  fields.field("entries", entries, range(1, 65536), "translations that the IO-TLB holds");
  fields.field("ways", ways, range(1, 65536), "its ways; as many as entries: fully associative");
  fields.choice("replacement", replacement,
                {{"lru", TlbReplacement::kLru},
                 {"fifo", TlbReplacement::kFifo},
                 {"random", TlbReplacement::kRandom}},
                "which translation of a set makes room");
  fields.field("walk_latency", walk_latency, range(Time(), Time::us(100)),
               "a walk through the page table, after a miss");
  fields.field("walks", walks, range(1, 1024), "walks at a time");
  fields.field("page_size", page_size, one_of(Bytes(4096), Bytes(2 << 20), Bytes(1 << 30)),
               "what one translation covers: above 4 KiB with super-pages");
  fields.check(entries % ways == 0, "ways", "must divide entries");
}

Iommu::Iommu(const IommuConfig& config)
    : config_(config),
      sets_(config.entries / config.ways),
      entries_(config.entries),
      walkers_(config.walks) {}

Time Iommu::translate(Time arrival, PhysicalAddress address, Bytes bytes) {
  const std::uint64_t first = address.value() / config_.page_size.count();
  const std::uint64_t last = (address.value() + bytes.count() - 1) / config_.page_size.count();
  Time known = look_up(arrival, first);
  if (last != first) known = std::max(known, look_up(arrival, last));
  stalled_ += known - arrival;
  return known;
}

Time Iommu::look_up(Time arrival, std::uint64_t page) {
  const std::uint64_t set = page % sets_;
  Entry* const begin = entries_.data() + set * config_.ways;
  Entry* const entry =
      std::find_if(begin, begin + config_.ways, [&](const Entry& e) { return e.page == page; });
  ++clock_;
  if (entry != begin + config_.ways) {
    ++(entry->known > arrival ? merged_ : hits_);
    if (config_.replacement == TlbReplacement::kLru) entry->used = clock_;
    return std::max(arrival, entry->known);
  }
  Entry& fresh = victim(set);
  fresh = {page, clock_, walk(arrival)};
  return fresh.known;
}

/// A place that was never used before any other: its `used` is 0.
Iommu::Entry& Iommu::victim(std::uint64_t set) {
  Entry* const begin = entries_.data() + set * config_.ways;
  Entry* const oldest = std::min_element(
      begin, begin + config_.ways, [](const Entry& a, const Entry& b) { return a.used < b.used; });
  if (config_.replacement != TlbReplacement::kRandom || oldest->used == 0) return *oldest;
  return begin[random_.below(config_.ways)];
}

Time Iommu::walk(Time arrival) {
  ++walks_;
  Time& walker = *std::min_element(walkers_.begin(), walkers_.end());
  const Time start = std::max(arrival, walker);
  waited_ += start - arrival;
  walker = start + config_.walk_latency;
  return walker;
}

void Iommu::report(const MetricScope& scope) const {
  scope.count("hits", hits_, "look-ups that the IO-TLB answered at once");
  scope.count("misses", merged_ + walks_, "look-ups that it could not answer at once");
  scope.count("walks", walks_, "walks through the page table; the other misses waited for one");
  scope.time("busy",
             config_.walk_latency * static_cast<std::int64_t>(walks_) /
                 static_cast<std::int64_t>(config_.walks),
             "time of the walks, shared among the walkers");
  scope.time("stalled.walkers", waited_, "time that walks waited for a walker");
  scope.time("stalled", stalled_, "time that requests were held back");
}

}  // namespace rnicsim
