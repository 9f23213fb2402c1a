// SPDX-License-Identifier: MIT
#include "nic/translation_cache.h"

#include <catch2/catch.hpp>

#include "tests/support/endpoint_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using test::Noted;
using State = TranslationCache::Result::State;

namespace {

constexpr Time kRead = EndpointBench::kRead;
constexpr std::uint64_t kRoot = 0x10000;
constexpr std::uint64_t kMiddle = 0x20000;
constexpr std::uint64_t kLeaf = 0x30000;

struct Bench : EndpointBench {
  explicit Bench(const TranslationCacheConfig& config = {}) : cache(scheduler, pcie, config, 1) {
    key.key = MemoryKey(3, 7);
    key.table = PhysicalAddress(kRoot);
    key.start = VirtualAddress(0x5000);
    key.base = key.start;
    key.length = 1 << 30;
  }
  void entry(std::uint64_t table, std::uint64_t index, std::uint64_t address, bool present = true) {
    abi::TableEntry{present, PhysicalAddress(address)}.write(memory.at(table + index * 8));
  }
  /// Looks until the translation is there, then notes the physical address.
  void look(std::uint64_t address) {
    const auto result = cache.lookup(key, VirtualAddress(address), wanted,
                                     call<&Bench::look>(this, address), WorkRequestId(9));
    if (result.state == State::kMiss) return;
    last = result;
    notes.note(result.state == State::kHit ? result.address.value() : ~std::uint64_t{0});
  }
  void look_at(Time time, std::uint64_t address) {
    scheduler.at(time, call<&Bench::look>(this, address));
  }
  std::uint32_t wanted = 4096;
  abi::KeyEntry key;
  TranslationCache cache;
  TranslationCache::Result last{};
};

}  // namespace

TEST_CASE("a miss of a one-level table reads one line of eight entries") {
  Bench bench;
  bench.entry(kRoot, 9, 0x700000);
  bench.entry(kRoot, 8, 0x800000);
  bench.look_at(10_ns, 0x5000 + 9 * 4096 + 0x123);
  bench.look_at(1_us, 0x5000 + 8 * 4096);  // same line
  bench.run();
  CHECK(bench.notes.list == Noted{{0x700123, 10_ns + kRead}, {0x800000, 1_us}});
  REQUIRE(bench.memory.log.size() == 1);
  CHECK(bench.memory.log[0].address == kRoot + 64);
  CHECK(bench.memory.log[0].bytes == 64);
  CHECK(bench.memory.log[0].purpose == DmaPurpose::kTranslationTable);
}

TEST_CASE("a translation ends at its page") {
  Bench bench;
  bench.entry(kRoot, 0, 0x700000);
  bench.look_at(10_ns, 0x5ff0);
  bench.run();
  CHECK(bench.last.bytes == 16);
  bench.wanted = 8;
  bench.look_at(2_us, 0x5ff0);
  bench.run();
  CHECK(bench.last.bytes == 8);
}

TEST_CASE("a table of two levels costs two dependent reads, the last one of a line") {
  Bench bench;
  bench.key.levels = 2;
  bench.entry(kRoot, 6, kLeaf);
  bench.entry(kLeaf, 17, 0x900000);
  bench.look_at(10_ns, 0x5000 + ((6U << 9 | 17U) << 12));
  bench.run();
  CHECK(bench.notes.list == Noted{{0x900000, 10_ns + kRead * 2}});
  REQUIRE(bench.memory.log.size() == 2);
  CHECK(bench.memory.log[0].address == kRoot + 6 * 8);
  CHECK(bench.memory.log[0].bytes == 8);
  CHECK(bench.memory.log[1].address == kLeaf + 16 * 8);
  CHECK(bench.memory.log[1].bytes == 64);
}

TEST_CASE("a table of three levels is walked from its root") {
  Bench bench;
  bench.key.levels = 3;
  bench.entry(kRoot, 5, kMiddle);
  bench.entry(kMiddle, 6, kLeaf);
  bench.entry(kLeaf, 17, 0x900000);
  bench.look_at(10_ns, 0x5000 + ((std::uint64_t{5} << 18 | 6U << 9 | 17U) << 12));
  bench.run();
  CHECK(bench.notes.list == Noted{{0x900000, 10_ns + kRead * 3}});
}

TEST_CASE("a page of 2 MiB takes one entry, and its whole length is on one page") {
  Bench bench;
  bench.key.log_page_size = 21;
  bench.entry(kRoot, 1, 0x40000000);
  bench.look_at(10_ns, (1U << 21) + 0x5678);
  bench.look_at(1_us, (2U << 21) - 4096);
  bench.run();
  CHECK(bench.notes.list ==
        Noted{{0x40005678, 10_ns + kRead}, {0x40000000 + (1U << 21) - 4096, 1_us}});
  CHECK(bench.memory.log.size() == 1);
}

TEST_CASE("lookups of a line under way join its walk") {
  Bench bench;
  bench.entry(kRoot, 0, 0x700000);
  bench.entry(kRoot, 1, 0x800000);
  bench.look_at(10_ns, 0x5000);
  bench.look_at(20_ns, 0x6000);
  bench.run();
  CHECK(bench.notes.list == Noted{{0x700000, 10_ns + kRead}, {0x800000, 10_ns + kRead}});
  CHECK(bench.memory.log.size() == 1);
}

TEST_CASE("no more walks run at once than there are miss registers") {
  TranslationCacheConfig config;
  config.line_entries = 1;
  Bench bench(config);  // two miss registers
  for (std::uint64_t i = 0; i < 5; ++i) {
    bench.entry(kRoot, i, (i + 1) << 20);
    bench.look_at(10_ns, 0x5000 + i * 4096);
  }
  bench.run();
  CHECK(bench.notes.list == Noted{{1 << 20, 10_ns + kRead},
                                  {2 << 20, 10_ns + kRead},
                                  {3 << 20, 10_ns + kRead * 2},
                                  {4 << 20, 10_ns + kRead * 2},
                                  {5 << 20, 10_ns + kRead * 3}});
}

TEST_CASE("an absent page is found absent, at the leaf and above it") {
  Bench bench;
  bench.entry(kRoot, 0, 0x700000, false);
  bench.look_at(10_ns, 0x5000);
  bench.run();
  CHECK(bench.notes.list == Noted{{~std::uint64_t{0}, 10_ns + kRead}});
  bench.key.levels = 2;
  bench.key.key = MemoryKey(4, 1);
  bench.key.table = PhysicalAddress(kMiddle);
  bench.look_at(1_us, 0x5000);
  bench.run();
  CHECK(bench.last.state == State::kNotPresent);
  CHECK(bench.notes.list.back().second == 1_us + kRead);
}

TEST_CASE("translations that are invalidated, also while they are fetched, are read again") {
  Bench bench;
  bench.entry(kRoot, 0, 0x700000);
  bench.look_at(10_ns, 0x5000);
  bench.at(10_ns + kRead - 1_ns, [&] { bench.cache.invalidate(3); });
  bench.at(10_ns + kRead + 1_ns, [&] { bench.entry(kRoot, 0, 0x900000); });
  bench.look_at(1_us, 0x5000);
  bench.at(2_us, [&] {
    bench.entry(kRoot, 0, 0xa00000);
    bench.cache.invalidate(2);  // somebody else's
  });
  bench.look_at(3_us, 0x5000);
  bench.at(4_us, [&] { bench.cache.invalidate(3); });
  bench.look_at(5_us, 0x5000);
  bench.run();
  CHECK(bench.notes.list == Noted{{0x900000, 10_ns + kRead * 2},
                                  {0x900000, 1_us},
                                  {0x900000, 3_us},
                                  {0xa00000, 5_us + kRead}});
}

TEST_CASE("as many lines fit as there are entries divided by the line") {
  TranslationCacheConfig config;
  config.geometry = {16, 16, Replacement::kLru};  // two lines of eight
  Bench bench(config);
  for (std::uint64_t i = 0; i < 3; ++i) {
    bench.entry(kRoot, i * 8, (i + 1) << 20);
    bench.look_at(Time::us(static_cast<std::int64_t>(i) + 1), 0x5000 + i * 8 * 4096);
  }
  bench.look_at(5_us, 0x5000 + 1 * 8 * 4096);
  bench.look_at(6_us, 0x5000);
  bench.run();
  CHECK(bench.notes.list[3] == std::pair<std::uint64_t, Time>{2 << 20, 5_us});
  CHECK(bench.notes.list[4] == std::pair<std::uint64_t, Time>{1 << 20, 6_us + kRead});
}

TEST_CASE("with next_line a sequential walk waits once, and the region's end is not passed") {
  TranslationCacheConfig config;
  config.line_entries = 2;
  config.prefetch = TranslationPrefetch::kNextLine;
  Bench bench(config);
  bench.key.length = 6 * 4096;  // three lines
  for (std::uint64_t i = 0; i < 8; ++i) bench.entry(kRoot, i, 0x100000 * (i + 1));
  for (std::uint64_t i = 0; i < 6; ++i)
    bench.look_at(10_ns + kRead * 4 * static_cast<std::int64_t>(i), 0x5000 + i * 4096);
  bench.run();
  Noted wanted;
  for (std::uint64_t i = 0; i < 6; ++i)
    wanted.push_back({0x100000 * (i + 1), 10_ns + kRead * 4 * static_cast<std::int64_t>(i)});
  wanted[0].second += kRead;
  CHECK(bench.notes.list == wanted);
  CHECK(bench.memory.log.size() == 3);
}

TEST_CASE("a line that is being prefetched is joined") {
  TranslationCacheConfig config;
  config.line_entries = 1;
  config.prefetch = TranslationPrefetch::kNextLine;
  Bench bench(config);
  bench.entry(kRoot, 0, 0x100000);
  bench.entry(kRoot, 1, 0x200000);
  bench.look_at(10_ns, 0x5000);
  bench.look_at(20_ns, 0x6000);
  bench.run();
  CHECK(bench.notes.list == Noted{{0x100000, 10_ns + kRead}, {0x200000, 10_ns + kRead}});
}
