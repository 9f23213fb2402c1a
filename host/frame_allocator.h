// SPDX-License-Identifier: MIT
// The kernel's allocator of physical memory. RAM is cut once into four zones: contiguous kernel
// memory (rings, tables, contexts; a buddy allocator) and one zone of frames for each user page
// size.
//
// Models: that the frames of user pages are scattered over their zone, as on a machine that has
// been up for a while, so that nothing downstream profits from neighbours by accident. The order is
// a seeded bijection over the zone (a Feistel network), so no table of frames is kept; freed frames
// are handed out again first, latest first. Ignores: NUMA nodes, zones that lend to each other,
// zeroing (a frame that is handed out again keeps its bytes; one never used reads as zeros), the
// time of allocating (part of the callers' cycles).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// The value is log2 of the size in bytes.
enum class PageSize : std::uint8_t { k4KiB = 12, k2MiB = 21, k1GiB = 30 };
constexpr unsigned log_of(PageSize size) { return static_cast<unsigned>(size); }
constexpr Bytes bytes_of(PageSize size) { return Bytes(1ULL << log_of(size)); }

/// A seeded bijection of [0, count) onto itself.
class Permutation {
 public:
  Permutation() = default;
  Permutation(std::uint64_t count, std::uint64_t seed);
  /// REQUIRES: index < count.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  static constexpr unsigned kRounds = 4;
  std::uint64_t once(std::uint64_t value) const;
  std::uint64_t count_ = 0;
  unsigned half_bits_ = 1;
  std::array<std::uint64_t, kRounds> keys_{};
};

/// Contiguous memory in naturally aligned blocks of a power of two.
class BuddyAllocator {
 public:
  BuddyAllocator() = default;
  BuddyAllocator(std::uint64_t begin, std::uint64_t end);
  std::optional<std::uint64_t> allocate(Bytes size);
  /// REQUIRES: a block that allocate(size) returned.
  void release(std::uint64_t address, Bytes size);
  Bytes in_use() const { return in_use_; }

 private:
  static constexpr unsigned kMinOrder = 6;  // 64 B: a CQE, a WQE block, a cache line
  static constexpr unsigned kOrders = 48;
  static unsigned order_for(Bytes size);
  std::array<std::set<std::uint64_t>, kOrders> free_;
  Bytes in_use_;
};

class FrameAllocator {
 public:
  FrameAllocator(Bytes memory_size, std::uint64_t seed);

  /// Physically contiguous, aligned to its size rounded up to a power of two (at least 64 B).
  std::optional<PhysicalAddress> allocate_kernel(Bytes size);
  void release_kernel(PhysicalAddress address, Bytes size);
  std::optional<PhysicalAddress> allocate_frame(PageSize size);
  void release_frame(PageSize size, PhysicalAddress address);

  Bytes kernel_in_use() const { return kernel_.in_use(); }
  std::uint64_t frames_in_use(PageSize size) const { return zone(size).used; }
  std::uint64_t frames_of(PageSize size) const { return zone(size).count; }

 private:
  struct Zone {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
    std::uint64_t fresh = 0;  ///< handed out at least once
    std::uint64_t used = 0;
    Permutation order;
    std::vector<std::uint64_t> released;
  };
  static unsigned index_of(PageSize size) { return (log_of(size) - 12) / 9; }
  Zone& zone(PageSize size) { return zones_[index_of(size)]; }
  const Zone& zone(PageSize size) const { return zones_[index_of(size)]; }

  BuddyAllocator kernel_;
  std::array<Zone, 3> zones_;
};

}  // namespace rnicsim
