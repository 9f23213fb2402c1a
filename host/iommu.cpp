// SPDX-License-Identifier: MIT
#include "host/iommu.h"

#include <algorithm>

namespace rnicsim {

void IommuConfig::describe(Fields& fields) {
  fields.choice("mode", mode,
                {{"passthrough", IommuMode::kPassthrough}, {"translate", IommuMode::kTranslate}},
                "whether DMA addresses are translated");
  geometry.describe(fields);
  fields.field("walk_latency", walk_latency, range(Time(), Time::us(100)),
               "a walk through the page table, after a miss");
  fields.field("walks", walks, range(1, 1024), "walks at a time");
  fields.field("page_size", page_size, one_of(Bytes(4096), Bytes(2 << 20), Bytes(1 << 30)),
               "what one translation covers: above 4 KiB with super-pages");
  fields.check(geometry.entries % geometry.ways == 0, "ways", "must divide entries");
}

Iommu::Iommu(const IommuConfig& config, std::uint64_t seed)
    : config_(config),
      directory_(config.geometry.entries, config.geometry.ways, config.geometry.replacement, seed),
      known_(directory_.slots()),
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
  if (const std::optional<std::uint32_t> slot = directory_.find(page)) {
    ++(known_[*slot] > arrival ? merged_ : hits_);
    return std::max(arrival, known_[*slot]);
  }
  return known_[directory_.insert(page).slot] = walk(arrival);
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
