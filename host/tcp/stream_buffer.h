// SPDX-License-Identifier: MIT
// The bytes of a stream between two of its offsets: a ring, addressed by offset, in which pieces
// may arrive in any order. Of an elided stream it keeps none. It does not know what it holds: the
// connection does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/units.h"

namespace rnicsim {

class StreamBuffer {
 public:
  /// Offsets in use at a time lie within `capacity` of each other.
  explicit StreamBuffer(Bytes capacity, bool elided = false)
      : ring_(elided ? 0 : capacity.count()) {}

  bool is_elided() const { return ring_.empty(); }
  void write(std::uint64_t offset, const std::uint8_t* from, std::size_t size) {
    if (is_elided()) return;
    const std::size_t at = offset % ring_.size();
    const std::size_t first = std::min(size, ring_.size() - at);
    std::copy_n(from, first, ring_.begin() + static_cast<std::ptrdiff_t>(at));
    std::copy_n(from + first, size - first, ring_.begin());
  }
  void read(std::uint64_t offset, std::uint8_t* to, std::size_t size) const {
    if (is_elided()) return;
    const std::size_t at = offset % ring_.size();
    const std::size_t first = std::min(size, ring_.size() - at);
    std::copy_n(ring_.begin() + static_cast<std::ptrdiff_t>(at), first, to);
    std::copy_n(ring_.begin(), size - first, to + first);
  }

 private:
  std::vector<std::uint8_t> ring_;
};

}  // namespace rnicsim
