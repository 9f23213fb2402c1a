// SPDX-License-Identifier: MIT
#include "nic/translation_cache.h"

#include <algorithm>
#include <utility>

#include "nic/waiters.h"

namespace rnicsim {

namespace {

// Key entries have 24 bits, and a region of 2^40 pages is beyond any host.
constexpr unsigned kLineBits = 40;

std::uint64_t name_of_line(const abi::KeyEntry& key, std::uint64_t line) {
  return static_cast<std::uint64_t>(key.key.index()) << kLineBits | line;
}

}  // namespace

void TranslationCacheConfig::describe(Fields& fields) {
  geometry.describe(fields);
  fields.field("line_entries", line_entries, range(1, MemoryTranslation::kMaxLine),
               "neighbouring entries fetched and replaced as one line");
  fields.field("hit_latency", hit_latency, range(Cycles(0), Cycles(10000)),
               "cycles of a look-up that hits");
  fields.field("outstanding_misses", outstanding_misses, range(1, 4096),
               "miss registers: table walks that may run at once");
  fields.choice(
      "prefetch", prefetch,
      {{"none", TranslationPrefetch::kNone}, {"next_line", TranslationPrefetch::kNextLine}},
      "what is fetched before it is asked for: nothing, or the line after one that "
      "missed or came true");
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
  const std::uint64_t line = page / config_.line_entries;
  const auto slot = directory_.find(name_of_line(key, line));
  if (!slot) {
    ++misses_;
    miss(key, line, retry, work_request);
    return {Result::State::kMiss, {}, 0};
  }
  const bool fresh = std::exchange(missed_before_, false);
  Cached& cached = lines_[*slot];
  const abi::TableEntry& entry = cached.line[page % config_.line_entries];
  if (!entry.present && !fresh && key.access.allows(AccessFlags::kOnDemand)) {
    directory_.erase(name_of_line(key, line));
    ++misses_;
    miss(key, line, retry, work_request);
    return {Result::State::kMiss, {}, 0};
  }
  if (!fresh) ++hits_;
  if (cached.ahead) {
    came_true(cached.ahead);
    fetch_ahead(key, line + 1);
  }
  if (!entry.present) return {Result::State::kNotPresent, {}, 0};
  const std::uint64_t offset = address.value() & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t left = (std::uint64_t{1} << shift) - offset;
  return {Result::State::kHit, PhysicalAddress(entry.address.value() + offset),
          static_cast<std::uint32_t>(std::min<std::uint64_t>(left, wanted))};
}

void TranslationCache::miss(const abi::KeyEntry& key, std::uint64_t line, Callback retry,
                            WorkRequestId work_request) {
  if (Pending* pending = pending_walk(name_of_line(key, line))) {
    if (pending->ahead) came_true(pending->ahead);
    add_waiter(pending->waiters, retry);
    return;
  }
  begin_walk(key, line, work_request).waiters.push_back(retry);
  fetch_ahead(key, line + 1);
}

/// What was fetched ahead has been asked for.
void TranslationCache::came_true(bool& ahead) {
  ahead = false;
  ++useful_;
}

void TranslationCache::fetch_ahead(const abi::KeyEntry& key, std::uint64_t line) {
  if (config_.prefetch == TranslationPrefetch::kNone || !walker_.has_room()) return;
  const unsigned shift = key.log_page_size;
  const std::uint64_t last_page =
      ((key.start.value() + key.length - 1) >> shift) - (key.base.value() >> shift);
  const std::uint64_t line_key = name_of_line(key, line);
  if (line > last_page / config_.line_entries || directory_.contains(line_key) ||
      pending_walk(line_key) != nullptr)
    return;
  ++prefetches_;
  begin_walk(key, line, {}).ahead = true;
}

TranslationCache::Pending* TranslationCache::pending_walk(std::uint64_t line_key) {
  const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) {
    return p.active && p.line_key == line_key;
  });
  return found != pending_.end() ? &*found : nullptr;
}

TranslationCache::Pending& TranslationCache::begin_walk(const abi::KeyEntry& key,
                                                        std::uint64_t line,
                                                        WorkRequestId work_request) {
  auto room = std::find_if(pending_.begin(), pending_.end(),
                           [](const Pending& pending) { return !pending.active; });
  Pending& pending = room != pending_.end() ? *room : pending_.emplace_back();
  pending.line_key = name_of_line(key, line);
  pending.active = true;
  pending.stale = false;
  pending.ahead = false;
  MemoryTranslation::Walk walk;
  walk.line_key = pending.line_key;
  walk.table = key.table;
  walk.first_page = line * config_.line_entries;
  walk.levels = key.levels;
  walk.entries = static_cast<std::uint8_t>(config_.line_entries);
  walk.work_request = work_request;
  walker_.start(walk);
  return pending;
}

void TranslationCache::walked(const MemoryTranslation::Walk& walk,
                              const MemoryTranslation::Line& line) {
  Pending& pending = *pending_walk(walk.line_key);
  if (!pending.stale) {
    const CacheDirectory::Placed placed = directory_.insert(walk.line_key);
    Cached& cached = lines_[placed.slot];
    if (placed.evicted && cached.ahead) ++useless_;
    cached = {line, pending.ahead};
  }
  serving_.swap(pending.waiters);  // both vectors keep their room
  pending.active = false;
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

void TranslationCache::signals(const SignalScope& scope) { walker_.signals(scope); }

void TranslationCache::report(const MetricScope& scope) const {
  scope.count("hits", hits_, "translations found in the cache");
  scope.count("misses", misses_, "translations that had to wait for a table walk");
  scope.count("prefetches", prefetches_, "lines fetched before they were asked for");
  scope.count("prefetches.useful", useful_, "of these, those that were asked for later");
  scope.count("prefetches.useless", useless_, "and those that made room unused");
  walker_.report(scope);
}

}  // namespace rnicsim
