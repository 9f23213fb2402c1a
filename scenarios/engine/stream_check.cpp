// SPDX-License-Identifier: MIT
#include "scenarios/engine/stream_check.h"

#include <algorithm>

#include "model/byte_order.h"
#include "scenarios/engine/region_image.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kNumberBytes = 8;

}  // namespace

void StreamCheck::fill(PageTable& pages, VirtualAddress buffer) const {
  const std::uint64_t bytes = places_ * size_;
  RegionImage(pages, buffer, bytes).fill(seed_);
}

void StreamCheck::number(PageTable& pages, VirtualAddress buffer, std::uint64_t message) const {
  if (!numbered_) return;
  std::uint8_t bytes[kNumberBytes];
  store_be64(bytes, message);
  pages.store(VirtualAddress(buffer.value() + place_of(message)), bytes, kNumberBytes);
}

/// Of one message.
void StreamCheck::expected(std::uint64_t position, std::uint8_t* to, std::uint64_t bytes) const {
  const std::uint64_t message = position / size_;
  const std::uint64_t within = position % size_;
  fill_pattern(seed_, place_of(message) + within, to, bytes);
  if (!numbered_ || within >= kNumberBytes) return;
  std::uint8_t number[kNumberBytes];
  store_be64(number, message);
  std::copy_n(number + within, std::min(bytes, kNumberBytes - within), to);
}

std::uint64_t StreamCheck::compare(PageTable& pages, VirtualAddress at, std::uint64_t bytes) {
  wanted_.resize(bytes);
  found_.resize(bytes);
  pages.load(at, found_.data(), bytes);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t left = size_ - (position_ + done) % size_;
    const std::uint64_t piece = std::min(left, bytes - done);
    expected(position_ + done, wanted_.data() + done, piece);
    done += piece;
  }
  position_ += bytes;
  std::uint64_t different = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) different += wanted_[i] != found_[i] ? 1 : 0;
  return different;
}

}  // namespace rnicsim
