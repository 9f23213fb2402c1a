// SPDX-License-Identifier: MIT
#include "model/cache_directory.h"

#include <catch2/catch.hpp>
#include <set>

using namespace rnicsim;

TEST_CASE("a directory finds what was inserted, in the slot it was given") {
  CacheDirectory directory(4, 4, Replacement::kLru, 1);
  REQUIRE_FALSE(directory.find(7));
  const auto placed = directory.insert(7);
  CHECK_FALSE(placed.evicted);
  REQUIRE(directory.find(7) == placed.slot);
  directory.erase(7);
  CHECK_FALSE(directory.find(7));
}

TEST_CASE("the least recently used entry makes room under lru") {
  CacheDirectory directory(3, 3, Replacement::kLru, 1);
  for (const std::uint64_t key : {1, 2, 3}) directory.insert(key);
  directory.find(1);
  CHECK(directory.insert(4).evicted == 2);
  CHECK(directory.insert(5).evicted == 3);
  CHECK(directory.insert(6).evicted == 1);
}

TEST_CASE("the oldest entry makes room under fifo, used or not") {
  CacheDirectory directory(3, 3, Replacement::kFifo, 1);
  for (const std::uint64_t key : {1, 2, 3}) directory.insert(key);
  directory.find(1);
  CHECK(directory.insert(4).evicted == 1);
  directory.find(2);
  CHECK(directory.insert(5).evicted == 2);
}

TEST_CASE("under plru the half that was not used last makes room") {
  CacheDirectory directory(4, 4, Replacement::kTree, 1);
  for (const std::uint64_t key : {1, 2, 3, 4}) directory.insert(key);
  // 4 was used last, so the victim is of the first half, where 2 was used last.
  CHECK(directory.insert(5).evicted == 1);
  directory.find(2);
  CHECK(directory.insert(6).evicted == 3);
  directory.find(4);
  CHECK(directory.insert(7).evicted == 5);
}

TEST_CASE("plru takes no more ways than its tree has room for, and a power of two") {
  CHECK(CacheDirectory(256, 128, Replacement::kTree, 1).ways() == 64);
  CHECK(CacheDirectory(12, 6, Replacement::kTree, 1).ways() == 4);
}

TEST_CASE("under srrip a line that was used outlives those that came once") {
  CacheDirectory directory(4, 4, Replacement::kRrip, 1);
  for (const std::uint64_t key : {1, 2, 3, 4}) directory.insert(key);
  directory.find(2);
  CHECK(directory.insert(5).evicted == 1);
  CHECK(directory.insert(6).evicted == 3);
  CHECK(directory.insert(7).evicted == 4);
  // All but 2 are expected late again; 5 is the first that came to that.
  CHECK(directory.insert(8).evicted == 5);
  CHECK(directory.find(2));
}

TEST_CASE("asking what a directory contains is no use") {
  CacheDirectory directory(2, 2, Replacement::kLru, 1);
  directory.insert(1);
  directory.insert(2);
  CHECK(directory.contains(1));
  CHECK_FALSE(directory.contains(3));
  CHECK(directory.insert(3).evicted == 1);
}

TEST_CASE("random replacement evicts every way at times and is the same for the same seed") {
  CacheDirectory first(4, 4, Replacement::kRandom, 9);
  CacheDirectory second(4, 4, Replacement::kRandom, 9);
  std::set<std::uint32_t> slots;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const auto placed = first.insert(key);
    const auto same = second.insert(key);
    REQUIRE(placed.slot == same.slot);
    REQUIRE(placed.evicted == same.evicted);
    if (placed.evicted) slots.insert(placed.slot);
  }
  CHECK(slots.size() == 4);
}

TEST_CASE("a key competes only with those of its own set") {
  CacheDirectory directory(8, 2, Replacement::kLru, 1);
  // Four sets: keys that are equal modulo four share one.
  directory.insert(0);
  directory.insert(4);
  for (const std::uint64_t key : {1, 2, 3, 5, 6, 7}) CHECK_FALSE(directory.insert(key).evicted);
  CHECK(directory.insert(8).evicted == 0);
  CHECK(directory.find(7));
}

TEST_CASE("ways that do not divide the slots are reduced to the next number that does") {
  CHECK(CacheDirectory(6, 4, Replacement::kLru, 1).ways() == 3);
  CHECK(CacheDirectory(4, 16, Replacement::kLru, 1).ways() == 4);
  CHECK(CacheDirectory(7, 4, Replacement::kLru, 1).ways() == 1);
}

TEST_CASE("erasing by predicate makes room without evicting") {
  CacheDirectory directory(4, 4, Replacement::kLru, 1);
  for (const std::uint64_t key : {1, 2, 3, 4}) directory.insert(key);
  directory.erase_if([](std::uint64_t key) { return key % 2 == 0; });
  CHECK_FALSE(directory.find(2));
  CHECK_FALSE(directory.find(4));
  CHECK_FALSE(directory.insert(5).evicted);
  CHECK_FALSE(directory.insert(6).evicted);
  CHECK(directory.insert(7).evicted == 1);
}
