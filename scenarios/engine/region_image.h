// SPDX-License-Identifier: MIT
// What a registered region must hold, compared with what it holds. Every region is filled with
// bytes that depend on a seed and on the place; a message then brings those of its source.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "host/page_table.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// The byte of a region filled from `seed` that stands at `offset`, and those after it.
void fill_pattern(std::uint64_t seed, std::uint64_t offset, std::uint8_t* to, std::size_t bytes);

/// A region in a program's memory.
class RegionImage {
 public:
  RegionImage(PageTable& pages, VirtualAddress address, std::uint64_t length)
      : pages_(pages), address_(address), length_(length) {}

  void fill(std::uint64_t seed) { fill(0, length_, seed); }
  /// [at, end) of the pattern of `seed`.
  void fill(std::uint64_t at, std::uint64_t end, std::uint64_t seed);
  /// Compares [at, end) with the pattern of `seed` from `source` on.
  void expect(std::uint64_t at, std::uint64_t end, std::uint64_t seed, std::uint64_t source);
  /// Compares the whole region with the pattern of `seed`, but for pieces of `bytes` that came from
  /// a region of `source_seed` (`moved`: place -> place there) and pieces of which nothing is
  /// known.
  void expect(std::uint64_t seed, const std::map<std::uint64_t, std::uint64_t>& moved,
              const std::set<std::uint64_t>& unknown, std::uint64_t bytes,
              std::uint64_t source_seed);
  /// As a program on a little-endian CPU reads and writes 64 bits.
  std::uint64_t number(std::uint64_t at) const;
  void expect_number(std::uint64_t at, std::uint64_t wanted);
  std::uint8_t byte(std::uint64_t at) const;
  void set_byte(std::uint64_t at, std::uint8_t value);
  void expect_byte(std::uint64_t at, std::uint8_t wanted);

  std::uint64_t mismatched() const { return mismatched_; }
  std::uint64_t first_mismatch() const { return first_; }

 private:
  void note(std::uint64_t at) {
    if (mismatched_++ == 0) first_ = at;
  }

  PageTable& pages_;
  VirtualAddress address_;
  std::uint64_t length_;
  std::uint64_t mismatched_ = 0;
  std::uint64_t first_ = 0;
};

/// The 64 bits that a region filled from `seed` begins with at `offset`.
std::uint64_t pattern_number(std::uint64_t seed, std::uint64_t offset);

}  // namespace rnicsim
