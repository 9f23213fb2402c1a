// SPDX-License-Identifier: MIT
// The NIC's TLB: (key entry, page of its region) -> physical address, over the host-resident
// translation table. Aware of page size, because it counts in pages of the key entry's own size: a
// 2 MiB page takes one entry, as a 4 KiB page does.
//
// An entry is 8 B of table; a line of `line_entries` neighbours is fetched and replaced as one (one
// 64 B read by default), so `entries` / `line_entries` lines exist. A hit costs cycles, a miss a
// walk (nic/memory_translation), limited by `outstanding_misses`.
//
// Absent pages (of regions paged on demand) are not kept: a line that is here and says so is
// fetched again, as the driver may have added the page meanwhile.
//
// With `prefetch` next_line, a miss, and the first use of a line that was fetched ahead, fetches
// the region's next line too, if it is not here and a miss register is free.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "model/cache_directory.h"
#include "model/config_reader.h"
#include "model/sparse_array.h"
#include "nic/memory_translation.h"

namespace rnicsim {

enum class TranslationPrefetch : std::uint8_t { kNone, kNextLine };

struct TranslationCacheConfig {
  CacheGeometry geometry{2048, 4, Replacement::kLru};
  std::uint32_t line_entries = 8;
  Cycles hit_latency{4};
  std::uint32_t outstanding_misses = 2;
  TranslationPrefetch prefetch = TranslationPrefetch::kNone;
  void describe(Fields& fields);
};

class TranslationCache : private MemoryTranslation::Client {
 public:
  TranslationCache(Scheduler& scheduler, PcieEndpoint& pcie, const TranslationCacheConfig& config,
                   std::uint64_t seed);

  struct Result {
    enum class State : std::uint8_t { kHit, kMiss, kNotPresent } state;
    PhysicalAddress address;  ///< of the byte asked for
    std::uint32_t bytes;      ///< how many from there are on the same page
  };
  /// Translates `address`, which lies in the region of `key`. On a miss `retry` runs when the line
  /// has come. `wanted` caps `bytes`.
  Result lookup(const abi::KeyEntry& key, VirtualAddress address, std::uint32_t wanted,
                Callback retry, WorkRequestId work_request);
  /// Forgets every translation of a key entry (deregistration).
  void invalidate(std::uint32_t key_index);

  Cycles hit_latency() const { return config_.hit_latency; }
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  struct Cached {
    MemoryTranslation::Line line;
    bool ahead = false;
  };
  struct Pending {
    std::uint64_t line_key = 0;
    bool active = false;
    bool stale = false;
    bool ahead = false;  ///< a prefetch that nobody has asked for yet
    std::vector<Callback> waiters;
  };
  void walked(const MemoryTranslation::Walk& walk, const MemoryTranslation::Line& line) override;
  void miss(const abi::KeyEntry& key, std::uint64_t line, Callback retry,
            WorkRequestId work_request);
  void fetch_ahead(const abi::KeyEntry& key, std::uint64_t line);
  Pending& begin_walk(const abi::KeyEntry& key, std::uint64_t line, WorkRequestId work_request);
  Pending* pending_walk(std::uint64_t line_key);
  void came_true(bool& ahead);

  TranslationCacheConfig config_;
  CacheDirectory directory_;
  SparseArray<Cached, 8> lines_;
  std::deque<Pending> pending_;
  std::vector<Callback> serving_;
  MemoryTranslation walker_;
  bool missed_before_ = false;  ///< the next look-up has been counted as a miss
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t prefetches_ = 0;
  std::uint64_t useful_ = 0;
  std::uint64_t useless_ = 0;
};

}  // namespace rnicsim
