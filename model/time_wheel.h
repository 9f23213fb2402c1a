// SPDX-License-Identifier: MIT
// The container of pending entries behind model/scheduler: a wheel of 4,096 buckets of 1,024 ps
// (about 4.2 us), a sorted list for the bucket being drained and a heap for what lies beyond the
// horizon. Entries come out in the order (time, order); which container held them never shows.
//
// Cost: insertion writes one pooled node, where the entry stays until it has run; a bucket is
// sorted when it is entered.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/callback.h"
#include "model/units.h"

namespace rnicsim {

class TimeWheel {
 public:
  struct Entry {
    std::int64_t time = 0;    ///< ps
    std::uint64_t order = 0;  ///< breaks ties at one time
    Callback callback;
  };

  TimeWheel();
  void insert(std::int64_t time, std::uint64_t order, void (*function)(void*, std::uint64_t),
              void* object, std::uint64_t argument) {
    ++size_;
    const std::uint32_t node = take_node();
    Entry& entry = nodes_[node].entry;
    entry.time = time;
    entry.order = order;
    entry.callback.function = function;
    entry.callback.object = object;
    entry.callback.argument = argument;
    const std::int64_t bucket = time >> kShift;
    if (bucket > cursor_ && bucket - cursor_ < kBuckets)
      insert_bucket(bucket, node);
    else if (bucket <= cursor_)
      insert_current(node);
    else
      insert_heap(node);
  }
  /// The earliest entry if its time is not after `through`, else nullptr. Valid until the next
  /// call of a non-const member. Never advances past `through`, so that earlier entries may still
  /// come at full speed.
  const Entry* first(std::int64_t through = std::numeric_limits<std::int64_t>::max()) {
    if (current_.empty() && !enter_next_bucket(through)) return nullptr;
    const Place& place = current_.back();
    return place.time <= through ? &nodes_[place.node].entry : nullptr;
  }
  /// The time of the earliest entry; the largest number when there is none.
  std::int64_t next_time() const;
  /// REQUIRES: first() returned an entry.
  void pop() {
    const std::uint32_t node = current_.back().node;
    nodes_[node].next = free_;
    free_ = node;
    current_.pop_back();
    --size_;
    // With many hosts each callback's object has long left the processor's caches.
    if (current_.size() > kPrefetch) prefetch(current_[current_.size() - 1 - kPrefetch].object);
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr unsigned kShift = 10;
  static constexpr std::int64_t kBuckets = 4096;
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Node {
    Entry entry;
    std::uint32_t next;
  };

  /// An entry of the bucket being drained.
  struct Place {
    Place(const Entry& entry, std::uint32_t node)
        : time(entry.time), order(entry.order), object(entry.callback.object), node(node) {}
    std::int64_t time;
    std::uint64_t order;
    const void* object;  ///< that the entry will work on
    std::uint32_t node;
    bool operator>(const Place& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  static constexpr std::size_t kPrefetch = 4;  ///< entries ahead
  static void prefetch(const void* object) {
    __builtin_prefetch(object);
    // A number, because it may lie beyond the object. NOLINTNEXTLINE(performance-no-int-to-ptr)
    __builtin_prefetch(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(object) + 64));
  }
  Place place_of(std::uint32_t node) const { return {nodes_[node].entry, node}; }

  static std::size_t slot_of(std::int64_t bucket) {
    return static_cast<std::size_t>(bucket) & (kBuckets - 1);
  }
  std::uint32_t take_node() {
    const std::uint32_t node = free_;
    if (node == kNone) return add_node();
    free_ = nodes_[node].next;
    return node;
  }
  std::uint32_t add_node();
  void insert_current(std::uint32_t node);
  void insert_bucket(std::int64_t bucket, std::uint32_t node) {
    const auto slot = slot_of(bucket);
    nodes_[node].next = heads_[slot];
    heads_[slot] = node;
    occupied_[slot / 64] |= 1ULL << (slot % 64);
    occupied_words_ |= 1ULL << (slot / 64);
  }
  void insert_heap(std::uint32_t node);
  bool enter_next_bucket(std::int64_t through);
  std::int64_t next_occupied() const;
  bool heap_is_due() const {
    return !heap_.empty() && (heap_.front().time >> kShift) - cursor_ < kBuckets;
  }
  void pull_from_heap();

  std::int64_t cursor_ = 0;     ///< absolute number of the bucket in current_
  std::vector<Place> current_;  ///< sorted, earliest last
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::array<std::uint32_t, kBuckets> heads_;
  std::array<std::uint64_t, kBuckets / 64> occupied_{};
  std::uint64_t occupied_words_ = 0;
  std::vector<Place> heap_;  ///< earliest first
  std::size_t size_ = 0;
};

}  // namespace rnicsim
