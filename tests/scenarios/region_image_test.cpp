// SPDX-License-Identifier: MIT
#include "scenarios/engine/region_image.h"

#include <catch2/catch.hpp>

#include "host/frame_allocator.h"
#include "host/memory.h"

using namespace rnicsim;

namespace {

constexpr std::uint64_t kOwn = 0x1111111111111111;
constexpr std::uint64_t kOther = 0x2323232323232323;

struct Region {
  Memory memory{MemoryConfig{}};
  FrameAllocator frames{Bytes(1ULL << 30), 1};
  PageTable pages{memory, frames};
  static constexpr std::uint64_t kLength = 200'000;  // several of the pieces it compares at a time
  VirtualAddress address = *pages.map(Bytes(kLength), PageSize::k4KiB);
  RegionImage image{pages, address, kLength};

  void copy_from(std::uint64_t seed, std::uint64_t source, std::uint64_t to, std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    fill_pattern(seed, source, data.data(), bytes);
    pages.store(VirtualAddress(address.value() + to), data.data(), bytes);
  }
};

}  // namespace

TEST_CASE("a region holds what it was filled with") {
  Region r;
  r.image.fill(kOwn);
  r.image.expect(kOwn, {}, {}, 100, kOther);
  CHECK(r.image.mismatched() == 0);
  r.image.expect(kOther, {}, {}, 100, kOther);
  CHECK(r.image.mismatched() > Region::kLength / 2);
}

TEST_CASE("pieces that were moved hold the bytes of their source, all others stay") {
  Region r;
  r.image.fill(kOwn);
  r.copy_from(kOther, 500, 70'000, 100);
  r.copy_from(kOther, 700, 199'900, 100);
  const std::map<std::uint64_t, std::uint64_t> moved{{70'000, 500}, {199'900, 700}};
  r.image.expect(kOwn, moved, {}, 100, kOther);
  CHECK(r.image.mismatched() == 0);

  RegionImage wrong_source(r.pages, r.address, Region::kLength);
  wrong_source.expect(kOwn, {{70'000, 501}, {199'900, 700}}, {}, 100, kOther);
  CHECK(wrong_source.mismatched() > 50);
  CHECK(wrong_source.first_mismatch() == 70'000);

  RegionImage one_byte_more(r.pages, r.address, Region::kLength);
  r.copy_from(~kOwn, 0, 70'100, 1);
  one_byte_more.expect(kOwn, moved, {}, 100, kOther);
  CHECK(one_byte_more.mismatched() == 1);
  CHECK(one_byte_more.first_mismatch() == 70'100);
}

TEST_CASE("of what is unknown nothing is expected") {
  Region r;
  r.image.fill(kOwn);
  r.copy_from(kOther, 0, 300, 100);
  r.image.expect(kOwn, {}, {300}, 100, kOther);
  CHECK(r.image.mismatched() == 0);
}

TEST_CASE("numbers are those of a little-endian CPU") {
  Region r;
  const std::uint8_t bytes[8] = {1, 0, 0, 0, 0, 0, 0, 0x80};
  r.pages.store(VirtualAddress(r.address.value() + 8), bytes, sizeof bytes);
  CHECK(r.image.number(8) == 0x8000000000000001ULL);
  r.image.expect_number(8, 0x8000000000000001ULL);
  CHECK(r.image.mismatched() == 0);
  r.image.expect_number(8, 0x8000000000000102ULL);
  CHECK(r.image.mismatched() == 2);
  CHECK(r.image.first_mismatch() == 8);
  r.image.fill(kOwn);
  CHECK(r.image.number(16) == pattern_number(kOwn, 16));
}
