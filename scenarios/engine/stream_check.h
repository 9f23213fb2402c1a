// SPDX-License-Identifier: MIT
// What the bytes of a stream of messages must be: its sender sends the places of its buffer in
// turn, and has written the message's number over the first 8 B of each, if they hold one.
#pragma once

#include <cstdint>
#include <vector>

#include "host/page_table.h"
#include "model/units.h"

namespace rnicsim {

class StreamCheck {
 public:
  /// Of a buffer of so many places of `size`, filled from `seed` (region_image).
  StreamCheck(std::uint64_t seed, Bytes size, std::uint64_t places, bool numbered)
      : seed_(seed), size_(size.count()), places_(places), numbered_(numbered && size_ >= 8) {}

  /// Where in the buffer a message comes from.
  std::uint64_t place_of(std::uint64_t message) const { return message % places_ * size_; }
  /// Fills a sender's buffer.
  void fill(PageTable& pages, VirtualAddress buffer) const;
  /// Writes a message's number, as its sender does before it sends.
  void number(PageTable& pages, VirtualAddress buffer, std::uint64_t message) const;
  /// Compares what has come, the next bytes of the stream; returns how many differ.
  std::uint64_t compare(PageTable& pages, VirtualAddress at, std::uint64_t bytes);

 private:
  void expected(std::uint64_t position, std::uint8_t* to, std::uint64_t bytes) const;

  std::uint64_t seed_;
  std::uint64_t size_;
  std::uint64_t places_;
  bool numbered_;
  std::uint64_t position_ = 0;
  std::vector<std::uint8_t> wanted_;
  std::vector<std::uint8_t> found_;
};

}  // namespace rnicsim
