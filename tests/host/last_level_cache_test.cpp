// SPDX-License-Identifier: MIT
#include "host/last_level_cache.h"

#include <catch2/catch.hpp>

#include "tests/support/metric_recorder.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;
using Landing = LastLevelCache::Landing;

/// Four sets of four ways, of which DMA writes may take two.
LastLevelCacheConfig small_config(std::uint32_t ddio_ways = 2) {
  LastLevelCacheConfig config;
  config.size = Bytes(64 * 4 * 4);
  config.ways = 4;
  config.ddio_ways = ddio_ways;
  return config;
}

}  // namespace

TEST_CASE("A DMA read hits what is there and brings nothing in") {
  LastLevelCache cache(small_config());
  CHECK_FALSE(cache.read(5));
  CHECK_FALSE(cache.read(5));
  cache.store(5);
  CHECK(cache.read(5));
  CHECK_FALSE(cache.read(9));  // the same set, another line
  auto metrics = test::metrics_of(cache);
  CHECK(metrics.at("read_hits") == 1);
  CHECK(metrics.at("read_misses") == 3);
}

TEST_CASE("DMA writes take places in the DDIO ways only, the least recently used first") {
  LastLevelCache cache(small_config());
  CHECK(cache.write(0).landing == Landing::kAllocated);
  CHECK(cache.write(4).landing == Landing::kAllocated);
  CHECK(cache.write(0).landing == Landing::kUpdated);
  const LastLevelCache::Write third = cache.write(8);
  CHECK(third.landing == Landing::kDisplaced);
  CHECK(third.displaced == 4);
  CHECK(cache.read(0));
  CHECK_FALSE(cache.read(4));
  CHECK(cache.read(8));
  CHECK(test::metrics_of(cache).at("write_backs") == 1);
}

TEST_CASE("A CPU's stores use all ways, and a DMA write updates a line wherever it is") {
  LastLevelCache cache(small_config());
  for (const std::uint64_t line : {0, 4, 8, 12}) cache.store(line);
  for (const std::uint64_t line : {0, 4, 8, 12})
    CHECK(cache.write(line).landing == Landing::kUpdated);
  cache.store(16);
  CHECK_FALSE(cache.read(0));
  CHECK(cache.read(4));
  CHECK(test::metrics_of(cache).at("write_allocations") == 0);
}

TEST_CASE("What a CPU brings in displaces the oldest line, which goes to DRAM if it was modified") {
  LastLevelCache cache(small_config());
  for (const std::uint64_t line : {0, 4}) CHECK_FALSE(cache.store(line).displaced);
  for (const std::uint64_t line : {8, 12}) CHECK_FALSE(cache.load(line).hit);
  CHECK(cache.load(0).hit);
  const LastLevelCache::Fill fill = cache.load(16);
  CHECK_FALSE(fill.hit);
  CHECK(fill.displaced == 4);
  CHECK_FALSE(cache.store(20).displaced);  // 8 was only read
  CHECK_FALSE(cache.store(24).displaced);
  CHECK(cache.load(28).displaced == 0);  // a load left it modified
}

TEST_CASE("Without DDIO a write goes to DRAM and the cache forgets the line") {
  LastLevelCache cache(small_config(0));
  cache.store(3);
  CHECK(cache.write(3).landing == Landing::kPassed);
  CHECK_FALSE(cache.read(3));
  CHECK(test::metrics_of(cache).at("writes_passed") == 1);
}

TEST_CASE("A flush leaves places that displace nothing") {
  LastLevelCache cache(small_config());
  for (const std::uint64_t line : {0, 4, 8, 12}) cache.store(line);
  cache.flush();
  CHECK_FALSE(cache.read(0));
  CHECK(cache.write(16).landing == Landing::kAllocated);
}
