// SPDX-License-Identifier: MIT
#include "model/time_wheel.h"

#include <algorithm>
#include <functional>

namespace rnicsim {

TimeWheel::TimeWheel() { heads_.fill(kNone); }

std::int64_t TimeWheel::next_time() const {
  if (!current_.empty()) return current_.back().time;
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t bucket = next_occupied();
  if (bucket < 0) return heap_.empty() ? earliest : heap_.front().time;
  for (std::uint32_t i = heads_[slot_of(bucket)]; i != kNone; i = nodes_[i].next)
    earliest = std::min(earliest, nodes_[i].entry.time);
  return earliest;
}

std::uint32_t TimeWheel::add_node() {
  nodes_.emplace_back();
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void TimeWheel::insert_current(std::uint32_t node) {
  const Place place = place_of(node);
  current_.insert(std::upper_bound(current_.begin(), current_.end(), place, std::greater<>()),
                  place);
}

/// Absolute number of the first occupied bucket after cursor_, or -1.
std::int64_t TimeWheel::next_occupied() const {
  if (occupied_words_ == 0) return -1;
  const auto start = slot_of(cursor_ + 1);
  const std::size_t word = start / 64;
  std::size_t slot = 0;
  const std::uint64_t here = occupied_[word] & (~0ULL << (start % 64));
  if (here != 0) {
    slot = word * 64 + static_cast<std::size_t>(__builtin_ctzll(here));
  } else {
    const std::uint64_t above = word == 63 ? 0 : occupied_words_ & (~0ULL << (word + 1));
    const std::uint64_t words = above != 0 ? above : occupied_words_;
    const auto other = static_cast<std::size_t>(__builtin_ctzll(words));
    slot = other * 64 + static_cast<std::size_t>(__builtin_ctzll(occupied_[other]));
  }
  const auto distance = (slot - start) & (kBuckets - 1);
  return cursor_ + 1 + static_cast<std::int64_t>(distance);
}

void TimeWheel::insert_heap(std::uint32_t node) {
  heap_.push_back(place_of(node));
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void TimeWheel::pull_from_heap() {
  while (heap_is_due()) {
    const Place place = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    const std::int64_t bucket = place.time >> kShift;
    if (bucket <= cursor_)
      insert_current(place.node);
    else
      insert_bucket(bucket, place.node);
  }
}

bool TimeWheel::enter_next_bucket(std::int64_t through) {
  std::int64_t bucket = next_occupied();
  if (bucket < 0) {
    if (heap_.empty()) return false;
    bucket = heap_.front().time >> kShift;
  }
  if (bucket > through >> kShift) return false;
  cursor_ = bucket;
  const auto slot = slot_of(bucket);
  std::uint32_t index = heads_[slot];
  heads_[slot] = kNone;
  if (index != kNone && (occupied_[slot / 64] ^= 1ULL << (slot % 64)) == 0)
    occupied_words_ ^= 1ULL << (slot / 64);
  for (; index != kNone; index = nodes_[index].next)
    current_.emplace_back(nodes_[index].entry, index);
  if (current_.size() > 1) std::sort(current_.begin(), current_.end(), std::greater<>());
  if (heap_is_due()) pull_from_heap();
  return true;
}

}  // namespace rnicsim
