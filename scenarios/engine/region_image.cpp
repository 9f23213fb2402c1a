// SPDX-License-Identifier: MIT
#include "scenarios/engine/region_image.h"

#include <algorithm>
#include <vector>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr std::size_t kChunk = 64 * 1024;

}  // namespace

void fill_pattern(std::uint64_t seed, std::uint64_t offset, std::uint8_t* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t x = (offset + i) * 0x9e3779b97f4a7c15ULL + seed;
    to[i] = static_cast<std::uint8_t>(x >> 56 ^ x >> 24);
  }
}

std::uint64_t pattern_number(std::uint64_t seed, std::uint64_t offset) {
  std::uint8_t bytes[8];
  fill_pattern(seed, offset, bytes, sizeof bytes);
  return load_le64(bytes);
}

void RegionImage::fill(std::uint64_t at, std::uint64_t end, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(kChunk, end - at));
  for (; at < end; at += bytes.size()) {
    const std::size_t n = std::min<std::uint64_t>(bytes.size(), end - at);
    fill_pattern(seed, at, bytes.data(), n);
    pages_.store(VirtualAddress(address_.value() + at), bytes.data(), n);
  }
}

void RegionImage::expect(std::uint64_t at, std::uint64_t end, std::uint64_t seed,
                         std::uint64_t source) {
  if (at >= end) return;
  std::vector<std::uint8_t> found(std::min<std::uint64_t>(kChunk, end - at));
  std::vector<std::uint8_t> wanted(found.size());
  for (; at < end; at += found.size()) {
    const std::size_t n = std::min<std::uint64_t>(found.size(), end - at);
    pages_.load(VirtualAddress(address_.value() + at), found.data(), n);
    fill_pattern(seed, source, wanted.data(), n);
    source += n;
    for (std::size_t i = 0; i < n; ++i)
      if (found[i] != wanted[i]) note(at + i);
  }
}

void RegionImage::expect(std::uint64_t seed, const std::map<std::uint64_t, std::uint64_t>& moved,
                         const std::set<std::uint64_t>& unknown, std::uint64_t bytes,
                         std::uint64_t source_seed) {
  std::map<std::uint64_t, std::uint64_t> pieces = moved;
  for (const std::uint64_t place : unknown) pieces.emplace(place, 0);
  std::uint64_t at = 0;
  for (const auto& [place, source] : pieces) {
    expect(at, place, seed, at);
    if (unknown.count(place) == 0) expect(place, place + bytes, source_seed, source);
    at = place + bytes;
  }
  expect(at, length_, seed, at);
}

std::uint64_t RegionImage::number(std::uint64_t at) const {
  std::uint8_t bytes[8] = {};
  pages_.load(VirtualAddress(address_.value() + at), bytes, sizeof bytes);
  return load_le64(bytes);
}

void RegionImage::expect_number(std::uint64_t at, std::uint64_t wanted) {
  const std::uint64_t found = number(at);
  for (unsigned i = 0; i < 8; ++i)
    if ((found >> 8 * i & 0xff) != (wanted >> 8 * i & 0xff)) note(at + i);
}

std::uint8_t RegionImage::byte(std::uint64_t at) const {
  std::uint8_t value = 0;
  pages_.load(VirtualAddress(address_.value() + at), &value, 1);
  return value;
}

void RegionImage::set_byte(std::uint64_t at, std::uint8_t value) {
  pages_.store(VirtualAddress(address_.value() + at), &value, 1);
}

void RegionImage::expect_byte(std::uint64_t at, std::uint8_t wanted) {
  if (byte(at) != wanted) note(at);
}

}  // namespace rnicsim
