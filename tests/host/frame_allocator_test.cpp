// SPDX-License-Identifier: MIT
#include "host/frame_allocator.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

using namespace rnicsim;

TEST_CASE("A permutation maps a range onto itself, whatever its size") {
  for (const std::uint64_t count : {1, 2, 3, 64, 65, 1000, 4097}) {
    const Permutation order(count, 7);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < count; ++i) {
      REQUIRE(order(i) < count);
      seen.insert(order(i));
    }
    REQUIRE(seen.size() == count);
  }
}

TEST_CASE("A permutation depends on its seed and leaves few neighbours together") {
  const Permutation one(4096, 1);
  const Permutation two(4096, 2);
  int equal = 0;
  int neighbours = 0;
  for (std::uint64_t i = 0; i + 1 < 4096; ++i) {
    equal += one(i) == two(i) ? 1 : 0;
    neighbours += one(i) + 1 == one(i + 1) ? 1 : 0;
  }
  REQUIRE(equal < 20);
  REQUIRE(neighbours < 20);
}

TEST_CASE("Kernel memory is contiguous, aligned to its size, disjoint, and merges when freed") {
  FrameAllocator frames(Bytes(1ULL << 30), 1);  // 128 MiB of it for the kernel
  std::set<std::uint64_t> blocks;
  std::vector<std::pair<PhysicalAddress, Bytes>> taken;
  for (const std::uint64_t size : {64, 100, 4096, 64, 1 << 20, 4096, 200}) {
    const auto at = frames.allocate_kernel(Bytes(size));
    REQUIRE(at);
    std::uint64_t rounded = 64;
    while (rounded < size) rounded *= 2;
    REQUIRE(at->value() % rounded == 0);
    REQUIRE(at->value() >= 1 << 20);
    REQUIRE(at->value() + rounded <= 128 << 20);
    for (std::uint64_t b = 0; b < rounded; b += 64) REQUIRE(blocks.insert(at->value() + b).second);
    taken.emplace_back(*at, Bytes(size));
  }
  REQUIRE(frames.kernel_in_use() == Bytes(64 + 128 + 4096 + 64 + (1 << 20) + 4096 + 256));
  for (const auto& [at, size] : taken) frames.release_kernel(at, size);
  REQUIRE(frames.kernel_in_use() == Bytes(0));
  // The largest block is whole again: 64 MiB at 64 MiB.
  REQUIRE(frames.allocate_kernel(Bytes(64 << 20)) == PhysicalAddress(64 << 20));
  REQUIRE_FALSE(frames.allocate_kernel(Bytes(64 << 20)));
}

TEST_CASE("Frames of each size are aligned, distinct, disjoint between sizes, and run out") {
  FrameAllocator frames(Bytes(16ULL << 30), 5);
  REQUIRE(frames.frames_of(PageSize::k1GiB) == 6);
  std::set<std::uint64_t> seen;
  std::optional<PhysicalAddress> at;
  while ((at = frames.allocate_frame(PageSize::k1GiB))) {
    REQUIRE(at->value() % (1ULL << 30) == 0);
    REQUIRE(at->value() + (1ULL << 30) <= 16ULL << 30);
    REQUIRE(seen.insert(at->value()).second);
  }
  REQUIRE(seen.size() == 6);
  const std::uint64_t giants = *seen.begin();
  for (int i = 0; i < 100; ++i) {
    const auto small = frames.allocate_frame(PageSize::k4KiB);
    const auto large = frames.allocate_frame(PageSize::k2MiB);
    REQUIRE(small->value() % 4096 == 0);
    REQUIRE(large->value() % (2 << 20) == 0);
    REQUIRE(small->value() >= 2ULL << 30);
    REQUIRE(small->value() + 4096 <= 6ULL << 30);
    REQUIRE(large->value() >= 6ULL << 30);
    REQUIRE(large->value() + (2 << 20) <= giants);
  }
}

TEST_CASE("A freed frame is the next one handed out, and the same seed gives the same frames") {
  FrameAllocator a(Bytes(1ULL << 30), 9);
  FrameAllocator b(Bytes(1ULL << 30), 9);
  const auto first = a.allocate_frame(PageSize::k4KiB);
  const auto second = a.allocate_frame(PageSize::k4KiB);
  REQUIRE(b.allocate_frame(PageSize::k4KiB) == first);
  REQUIRE(b.allocate_frame(PageSize::k4KiB) == second);
  a.release_frame(PageSize::k4KiB, *first);
  REQUIRE(a.frames_in_use(PageSize::k4KiB) == 1);
  REQUIRE(a.allocate_frame(PageSize::k4KiB) == first);
}
