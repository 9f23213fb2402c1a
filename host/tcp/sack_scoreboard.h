// SPDX-License-Identifier: MIT
// What a sender knows of the data that it has in flight: which pieces of it have arrived out of
// order (RFC 6675). Positions are stream positions of 64 bits, which do not wrap.
//
// Pieces are kept apart, in order, in one vector that never shrinks.
#pragma once

#include <cstdint>
#include <vector>

namespace rnicsim {

class SackScoreboard {
 public:
  struct Range {
    std::uint64_t first;
    std::uint64_t behind;
  };

  bool empty() const { return ranges_.empty(); }
  void clear() { ranges_.clear(); }
  /// The receiver has [first, behind); returns how much of it is news.
  std::uint64_t add(std::uint64_t first, std::uint64_t behind);
  /// Everything before `position` has arrived, in order.
  void acknowledge(std::uint64_t position);
  bool contains(std::uint64_t position) const;
  /// Behind the last byte that is known to have arrived; 0: none.
  std::uint64_t highest() const { return empty() ? 0 : ranges_.back().behind; }
  /// What of [from, to) is not known to have arrived.
  std::uint64_t missing(std::uint64_t from, std::uint64_t to) const;
  /// The first piece of [from, to) that is missing; an empty range if none is.
  Range first_missing(std::uint64_t from, std::uint64_t to) const;
  /// IsLost: what is missing before this position is taken for lost, since `threshold` pieces, or
  /// more than threshold - 1 segments' bytes, have arrived from behind it. 0: nothing is.
  std::uint64_t lost_before(std::uint32_t threshold, std::uint64_t mss) const;

 private:
  std::vector<Range> ranges_;
};

}  // namespace rnicsim
