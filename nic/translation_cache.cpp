// SPDX-License-Identifier: MIT
#include "nic/translation_cache.h"

#include <algorithm>
#include <utility>

namespace rnicsim {

namespace {

// Key entries have 24 bits, and a region of 2^40 pages is beyond any host.
constexpr unsigned kLineBits = 40;

}  // namespace

void TranslationCacheConfig::describe(Fields& fields) {
  geometry.describe(fields);
  fields.field("line_entries", line_entries, range(1, MemoryTranslation::kMaxLine),
               "neighbouring entries fetched and replaced as one line");
  fields.field("hit_latency", hit_latency, range(Cycles(0), Cycles(10000)),
               "cycles of a look-up that hits");
  fields.field("outstanding_misses", outstanding_misses, range(1, 4096),
               "miss registers: table walks that may run at once");
  fields.check((line_entries & (line_entries - 1)) == 0, "line_entries", "must be a power of two");
  fields.check(geometry.entries % line_entries == 0, "entries",
               "must be a multiple of line_entries");
}

TranslationCache::TranslationCache(Scheduler& scheduler, PcieEndpoint& pcie,
                                   const TranslationCacheConfig& config, std::uint64_t seed)
    : config_(config),
      directory_(config.geometry.entries / config.line_entries, config.geometry.ways,
                 config.geometry.replacement, seed),
      lines_(directory_.slots()),
      walker_(scheduler, pcie, config.outstanding_misses, *this) {}

TranslationCache::Result TranslationCache::lookup(const abi::KeyEntry& key, VirtualAddress address,
                                                  std::uint32_t wanted, Callback retry,
                                                  WorkRequestId work_request) {
  const unsigned shift = key.log_page_size;
  const std::uint64_t page = (address.value() >> shift) - (key.base.value() >> shift);
  const std::uint64_t line_key =
      static_cast<std::uint64_t>(key.key.index()) << kLineBits | page / config_.line_entries;
  const auto slot = directory_.find(line_key);
  if (!slot) {
    ++misses_;
    miss(key, page, line_key, retry, work_request);
    return {Result::State::kMiss, {}, 0};
  }
  if (!std::exchange(missed_before_, false)) ++hits_;
  const abi::TableEntry& entry = lines_[*slot][page % config_.line_entries];
  if (!entry.present) return {Result::State::kNotPresent, {}, 0};
  const std::uint64_t offset = address.value() & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t left = (std::uint64_t{1} << shift) - offset;
  return {Result::State::kHit, PhysicalAddress(entry.address.value() + offset),
          static_cast<std::uint32_t>(std::min<std::uint64_t>(left, wanted))};
}

void TranslationCache::miss(const abi::KeyEntry& key, std::uint64_t page, std::uint64_t line_key,
                            Callback retry, WorkRequestId work_request) {
  Pending* room = nullptr;
  for (Pending& pending : pending_) {
    if (pending.active && pending.line_key == line_key) {
      pending.waiters.push_back(retry);
      return;
    }
    if (!pending.active) room = &pending;
  }
  if (room == nullptr) room = &pending_.emplace_back();
  room->line_key = line_key;
  room->active = true;
  room->stale = false;
  room->waiters.push_back(retry);
  MemoryTranslation::Walk walk;
  walk.line_key = line_key;
  walk.table = key.table;
  walk.first_page = page / config_.line_entries * config_.line_entries;
  walk.levels = key.levels;
  walk.entries = static_cast<std::uint8_t>(config_.line_entries);
  walk.work_request = work_request;
  walker_.start(walk);
}

void TranslationCache::walked(const MemoryTranslation::Walk& walk,
                              const MemoryTranslation::Line& line) {
  const auto pending = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) {
    return p.active && p.line_key == walk.line_key;
  });
  if (!pending->stale) lines_[directory_.insert(walk.line_key).slot] = line;
  serving_.swap(pending->waiters);  // both vectors keep their room
  pending->active = false;
  for (const Callback& waiter : serving_) {
    missed_before_ = true;  // it looks again and finds its line: one miss, no hit
    waiter();
  }
  missed_before_ = false;
  serving_.clear();
}

void TranslationCache::invalidate(std::uint32_t key_index) {
  directory_.erase_if([&](std::uint64_t key) { return key >> kLineBits == key_index; });
  for (Pending& pending : pending_)
    if (pending.line_key >> kLineBits == key_index) pending.stale = true;
}

void TranslationCache::report(const MetricScope& scope) const {
  scope.count("hits", hits_, "translations found in the cache");
  scope.count("misses", misses_, "translations that had to wait for a table walk");
  walker_.report(scope);
}

}  // namespace rnicsim
