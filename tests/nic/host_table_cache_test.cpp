// SPDX-License-Identifier: MIT
#include "nic/host_table_cache.h"

#include <catch2/catch.hpp>

#include "model/nic_abi.h"
#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/probe_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using test::Noted;

namespace {

constexpr std::uint64_t kTable = 0x1000;
constexpr Time kRead = EndpointBench::kRead;
constexpr Time kWrite = EndpointBench::kWrite;

/// A cache of CQ contexts, whose producer index tells the entries apart.
struct Bench : EndpointBench {
  explicit Bench(std::uint32_t entries = 4, std::uint32_t outstanding = 8)
      : cache(scheduler, pcie, config(entries, outstanding), DmaPurpose::kCqContext, "cache", 1) {
    cache.set_table(PhysicalAddress(kTable), 16);
    for (std::uint32_t i = 0; i < 16; ++i) set(i, 100 + i);
  }
  static HostTableCacheConfig config(std::uint32_t entries, std::uint32_t outstanding) {
    HostTableCacheConfig c;
    c.geometry = {entries, entries, Replacement::kLru};
    c.outstanding_misses = outstanding;
    return c;
  }
  void set(std::uint32_t index, std::uint32_t value) {
    abi::CqContext entry;
    entry.producer_index = value;
    entry.write(memory.at(kTable + index * abi::CqContext::kBytes));
  }
  std::uint32_t in_host(std::uint32_t index) {
    return abi::CqContext::read(memory.at(kTable + index * abi::CqContext::kBytes)).producer_index;
  }
  /// Looks until the entry is there, then notes its value.
  void look(std::uint64_t index) {
    const auto* entry =
        cache.lookup(static_cast<std::uint32_t>(index), call<&Bench::look>(this, index));
    if (entry != nullptr) notes.note(entry->producer_index);
  }
  void look_at(Time time, std::uint32_t index) {
    scheduler.at(time, call<&Bench::look>(this, index));
  }
  /// The same as one of several users, whose number stands before the value.
  void look_for(std::uint64_t user_and_index) {
    const auto* entry = cache.lookup(static_cast<std::uint32_t>(user_and_index % 16),
                                     call<&Bench::look_for>(this, user_and_index));
    if (entry != nullptr) notes.note(user_and_index / 16 * 1000 + entry->producer_index);
  }
  void look_as(Time time, std::uint32_t index, std::uint64_t user) {
    scheduler.at(time, call<&Bench::look_for>(this, user * 16 + index));
  }
  HostTableCache<abi::CqContext> cache;
};

}  // namespace

TEST_CASE("a miss costs one DMA read of the entry, a hit nothing") {
  Bench bench;
  bench.look_at(10_ns, 3);
  bench.look_at(1_us, 3);
  bench.run();
  CHECK(bench.notes.list == Noted{{103, 10_ns + kRead}, {103, 1_us}});
  REQUIRE(bench.memory.log.size() == 1);
  CHECK(bench.memory.log[0].address == kTable + 3 * abi::CqContext::kBytes);
  CHECK(bench.memory.log[0].bytes == abi::CqContext::kBytes);
  CHECK(bench.memory.log[0].engine == DmaEngineId::kTableRead);
}

TEST_CASE("misses of one entry share one fetch and are served in order") {
  Bench bench;
  bench.look_as(10_ns, 3, 1);
  bench.look_as(20_ns, 3, 2);
  bench.look_as(30_ns, 3, 3);
  bench.run();
  CHECK(bench.notes.list ==
        Noted{{1103, 10_ns + kRead}, {2103, 10_ns + kRead}, {3103, 10_ns + kRead}});
  CHECK(bench.memory.log.size() == 1);
}

TEST_CASE("one that waits already is called back once") {
  Bench bench(4, 1);
  bench.look_at(10_ns, 3);
  bench.look_at(20_ns, 3);
  bench.look_at(30_ns, 4);  // waits for the miss register
  bench.look_at(40_ns, 4);
  bench.run();
  CHECK(bench.notes.list == Noted{{103, 10_ns + kRead}, {104, 10_ns + kRead * 2}});
}

TEST_CASE("an observer sees who missed an entry, and since when") {
  Bench bench(4, 1);
  test::ProbeRecorder probes;
  bench.cache.probe.attach(&probes, 2);
  bench.look_as(10_ns, 3, 1);
  bench.look_as(20_ns, 3, 2);
  bench.look_as(30_ns, 4, 1);  // waits for the miss register
  bench.look_as(40_ns, 4, 1);
  bench.look_as(1_us, 3, 1);
  bench.run();
  const std::vector<ProbeRecord> fetched = probes.of(ProbeKind::kContextFetched);
  REQUIRE(fetched.size() == 3);
  CHECK(fetched[0].time == 10_ns + kRead);
  CHECK(fetched[0].a == 10'000);
  CHECK(fetched[0].b == 3);
  CHECK(fetched[0].component == 2);
  CHECK(fetched[1].time == 10_ns + kRead);
  CHECK(fetched[1].a == 20'000);
  CHECK(fetched[2].time == 10_ns + kRead * 2);
  CHECK(fetched[2].a == 30'000);
  CHECK(fetched[2].b == 4);
}

TEST_CASE("an entry that was prefetched is there, or under way, when it is looked up") {
  Bench bench(4, 1);
  bench.at(10_ns, [&] {
    bench.cache.prefetch(3);
    bench.cache.prefetch(4);
    bench.cache.prefetch(4);
  });
  bench.look_at(20_ns, 4);
  bench.look_at(10_ns + kRead + 1_ns, 3);
  bench.run();
  CHECK(bench.notes.list == Noted{{103, 10_ns + kRead + 1_ns}, {104, 10_ns + kRead * 2}});
  CHECK(bench.memory.log.size() == 2);
}

TEST_CASE("no more entries are fetched at once than there are miss registers") {
  Bench bench(4, 2);
  for (std::uint32_t i = 0; i < 4; ++i) bench.look_at(10_ns, i);
  bench.run();
  CHECK(bench.notes.list == Noted{{100, 10_ns + kRead},
                                  {101, 10_ns + kRead},
                                  {102, 10_ns + kRead * 2},
                                  {103, 10_ns + kRead * 2}});
}

TEST_CASE("an entry invalidated while it is fetched is fetched again") {
  Bench bench;
  bench.look_at(10_ns, 3);
  bench.at(10_ns + kRead - 1_ns, [&] {
    bench.cache.invalidate(3);
    // The fetch under way has the old bytes; the driver's new ones must be seen.
  });
  bench.at(10_ns + kRead + 1_ns, [&] { bench.set(3, 777); });
  bench.run();
  CHECK(bench.notes.list == Noted{{777, 10_ns + kRead * 2}});
}

TEST_CASE("an unchanged entry is evicted silently, a changed one is written back") {
  Bench bench(1);
  bench.look_at(10_ns, 3);
  bench.look_at(1_us, 4);
  bench.at(2_us, [&] {
    bench.cache.peek(4)->producer_index = 555;
    bench.cache.mark_dirty(4);
  });
  bench.look_at(3_us, 5);
  bench.run();
  const auto& log = bench.memory.log;
  REQUIRE(log.size() == 4);
  CHECK(log[3].write);
  CHECK(log[3].address == kTable + 4 * abi::CqContext::kBytes);
  CHECK(log[3].begin == 3_us + kRead);
  CHECK(log[3].engine == DmaEngineId::kPosted);
  CHECK(bench.in_host(4) == 555);
}

TEST_CASE("an entry is not fetched again before its write-back has been handed over") {
  Bench bench(1);
  bench.look_at(10_ns, 4);
  bench.at(1_us, [&] {
    bench.cache.peek(4)->producer_index = 555;
    bench.cache.mark_dirty(4);
  });
  bench.look_at(2_us, 5);
  bench.look_at(2_us + kRead + 10_ns, 4);  // while the write-back is under way
  bench.run();
  const Time written = 2_us + kRead + kWrite;
  CHECK(bench.notes.list ==
        Noted{{104, 10_ns + kRead}, {105, 2_us + kRead}, {555, written + kRead}});
}

TEST_CASE("an index beyond the table breaks an invariant") {
  Bench bench;
  bench.look_at(10_ns, 16);
  CHECK_THROWS_AS(bench.run(), InvariantBroken);
}

TEST_CASE("each user has a port of its own with the latency and interval of a look-up") {
  Bench bench;
  HostTableCacheConfig config = Bench::config(4, 8);
  config.hit_latency = Cycles(3);
  config.interval = Cycles(2);
  HostTableCache<abi::CqContext> cache(bench.scheduler, bench.pcie, config, DmaPurpose::kCqContext,
                                       "other", 1);
  const Clock clock(Frequency::mhz(400));
  Pipeline& one = cache.add_port(clock);
  Pipeline& other = cache.add_port(clock);
  CHECK(one.enter(10_ns) == clock.edge(4 + 3));
  CHECK(one.enter(10_ns) == clock.edge(4 + 2 + 3));
  CHECK(other.enter(10_ns) == clock.edge(4 + 3));
  CHECK(one.stalled() == clock.edge(2));
  CHECK(other.stalled() == Time());
}

TEST_CASE("one that waited and does not look again takes no hit from the others") {
  Bench bench;
  bench.at(10_ns, [&] { CHECK(bench.cache.lookup(3, bench.notes.noting(1)) == nullptr); });
  bench.look_at(1_us, 3);
  bench.run();
  test::MetricRecorder metrics;
  bench.cache.report(MetricScope(metrics, "cache"));
  CHECK(metrics.values.at("cache.misses") == 1);
  CHECK(metrics.values.at("cache.hits") == 1);
}
