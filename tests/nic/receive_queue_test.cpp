// SPDX-License-Identifier: MIT
#include "nic/receive_queue.h"

#include <catch2/catch.hpp>

#include "tests/nic/receive_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::Noted;
using Bench = test::ReceiveBench;
using Reads = Bench::Reads;

namespace {

constexpr Time kRead = Bench::kRead;
constexpr std::uint64_t kEmpty = Bench::kEmpty;
constexpr std::uint32_t kEntryBytes = Bench::kEntryBytes;

std::uint64_t ps(Time time) { return static_cast<std::uint64_t>(time.ps()); }

}  // namespace

TEST_CASE("the first receive costs a read of the doorbell record and one of the entries") {
  Bench bench;
  bench.post(bench.own[0], 3);
  bench.ask_at(10_ns);
  bench.ask_at(1_us);
  bench.run();
  CHECK(bench.notes.list == Noted{{0, 10_ns + kRead * 2}, {1, 1_us}});
  CHECK(bench.contexts[0].receive_consumer == 2);
  const auto& log = bench.memory.log;
  REQUIRE(log.size() == 2);
  CHECK(log[0].purpose == DmaPurpose::kDoorbellRecord);
  CHECK(log[0].address == bench.own[0].record);
  CHECK(log[0].bytes == abi::DoorbellRecord::kBytes);
  CHECK(log[1].purpose == DmaPurpose::kReceiveQueue);
  CHECK(log[1].address == bench.own[0].ring);
  CHECK(log[1].bytes == 3 * kEntryBytes);
  for (const auto& access : log) CHECK(access.engine == DmaEngineId::kQueueRead);
  CHECK(bench.receives.idle());
  CHECK(bench.metric("busy") == ps(kRead * 2));
  CHECK(bench.metric("receives") == 2);
}

TEST_CASE("an entry is taken apart up to the end of its list or of itself") {
  Bench bench;
  bench.post(bench.own[0], 2);
  abi::DataSegment{50, MemoryKey(0x800), VirtualAddress(0x9000)}.write(
      bench.memory.at(bench.own[0].ring + kEntryBytes + abi::kSegmentBytes));
  bench.ask_at(10_ns);
  bench.at(1_us, [&] {
    CHECK(bench.last.segment_count == 1);
    CHECK(bench.last.capacity == 100);
    CHECK(bench.last.ready == 10_ns + kRead * 2);
    bench.ask(0);
    CHECK(bench.last.counter == 1);
    REQUIRE(bench.last.segment_count == 2);
    CHECK(bench.last.capacity == 151);
    CHECK(bench.last.segments[0].byte_count == 101);
    CHECK(bench.last.segments[1].lkey == MemoryKey(0x800));
    CHECK(bench.last.segments[1].address == VirtualAddress(0x9000));
  });
  bench.run();
}

TEST_CASE("that none is posted is said after one record read that began after the question") {
  Bench bench;
  bench.ask_at(10_ns);
  bench.ask_at(1_us);
  bench.run();
  CHECK(bench.notes.list == Noted{{kEmpty, 10_ns + kRead}, {kEmpty, 1_us + kRead}});
  CHECK(bench.reads(DmaPurpose::kDoorbellRecord) == Reads{{10_ns, 8}, {1_us, 8}});
  CHECK(bench.memory.log.size() == 2);
  CHECK(bench.metric("found_none") == 2);
}

TEST_CASE("a receive posted since the last record read is found by another one") {
  Bench bench;
  bench.post(bench.own[0], 1);
  bench.ask_at(10_ns);
  bench.at(700_ns, [&] { bench.post(bench.own[0], 1); });
  bench.ask_at(1_us);
  bench.ask_at(2_us);
  bench.run();
  CHECK(bench.notes.list ==
        Noted{{0, 10_ns + kRead * 2}, {1, 1_us + kRead * 2}, {kEmpty, 2_us + kRead}});
  CHECK(bench.reads(DmaPurpose::kDoorbellRecord) == Reads{{10_ns, 8}, {1_us, 8}, {2_us, 8}});
}

TEST_CASE("a fetch ends at the ring's end, the next begins at its start") {
  Bench bench;
  bench.post(bench.own[0], 6);
  for (int i = 0; i < 6; ++i) bench.ask_at(1_us + Time::us(1) * i);
  bench.at(7_us, [&] { bench.post(bench.own[0], 5); });
  for (int i = 0; i < 5; ++i) bench.ask_at(8_us + Time::us(1) * i);
  bench.run();
  REQUIRE(bench.notes.list.size() == 11);
  for (std::uint64_t i = 0; i < 11; ++i) CHECK(bench.notes.list[i].first == i);
  CHECK(bench.last.capacity == 110);
  const auto fetches = bench.memory.of(DmaPurpose::kReceiveQueue);
  REQUIRE(fetches.size() == 3);
  CHECK(fetches[1].address == bench.own[0].ring + 6 * kEntryBytes);
  CHECK(fetches[1].bytes == 2 * kEntryBytes);
  CHECK(fetches[1].begin == 8_us + kRead);
  CHECK(fetches[2].address == bench.own[0].ring);
  CHECK(fetches[2].bytes == 3 * kEntryBytes);
  CHECK(fetches[2].begin == fetches[1].end);
}

TEST_CASE("receives are prefetched in whole batches, as many as have room") {
  Bench bench;
  bench.set_ring(0, 6);
  bench.post(bench.own[0], 40);
  bench.ask_at(10_ns);
  for (int i = 1; i < 8; ++i) bench.ask_at(Time::us(1) + Time::ns(10) * i);
  bench.run();
  CHECK(bench.notes.list.back() == std::make_pair(std::uint64_t{7}, Time::ns(1070)));
  // Sixteen entries at most; eight more when eight have been taken.
  CHECK(bench.reads(DmaPurpose::kReceiveQueue) ==
        Reads{{10_ns + kRead, 256}, {10_ns + kRead * 2, 256}, {Time::ns(1070), 256}});
  CHECK(bench.memory.of(DmaPurpose::kDoorbellRecord).size() == 1);
}

TEST_CASE("a fetch brings no more than may be fetched at once, in entries and in bytes") {
  ReceiveQueuesConfig config;
  config.entries_per_fetch = 2;
  Bench bench(config);
  bench.post(bench.own[0], 3);
  bench.ask_at(10_ns);
  bench.contexts[1].log_receive_segments = 5;
  bench.post(bench.own[1], 3);
  bench.ask_at(5_us, 1);
  bench.run();
  CHECK(bench.reads(DmaPurpose::kReceiveQueue) == Reads{{10_ns + kRead, 64},
                                                        {10_ns + kRead * 2, 32},
                                                        {5_us + kRead, 512},
                                                        {5_us + kRead * 2, 512},
                                                        {5_us + kRead * 3, 512}});
}

TEST_CASE("a queue waits for a read of another to end when all are taken") {
  ReceiveQueuesConfig config;
  config.outstanding = 1;
  Bench bench(config);
  bench.post(bench.own[0], 1);
  bench.post(bench.own[1], 1);
  bench.ask_at(10_ns, 0);
  bench.ask_at(20_ns, 1);
  bench.run();
  // Record, record, entries, entries.
  CHECK(bench.notes.list == Noted{{0, 10_ns + kRead * 3}, {1000, 10_ns + kRead * 4}});
  CHECK(bench.metric("occupancy.max") == 1);
  CHECK(bench.metric("stalled.outstanding") == ps(kRead * 3 - 10_ns));
}

TEST_CASE("a queue pair without a receive queue has none posted") {
  Bench bench;
  bench.contexts[0].flags = 0;
  bench.ask_at(10_ns);
  bench.run();
  CHECK(bench.notes.list == Noted{{kEmpty, 10_ns}});
  CHECK(bench.memory.log.empty());
}

TEST_CASE("a doorbell record beyond the ring gives no receives") {
  Bench bench;
  abi::DoorbellRecord{0x1000, 0}.write(bench.memory.at(bench.own[0].record));
  bench.ask_at(10_ns);
  bench.run();
  CHECK(bench.notes.list == Noted{{kEmpty, 10_ns + kRead}});
}

TEST_CASE("a fetch that returns after a reset is void, and its waiter asks again") {
  Bench bench;
  bench.post(bench.own[0], 2);
  bench.ask_at(10_ns);
  bench.at(400_ns, [&] {
    // Software begins anew with another ring; the old entries are on their way.
    bench.own[0] = {0x28000, 0x8000};
    bench.set_ring(0, 3);
    bench.contexts[0].receive_consumer = 0;
    bench.receives.reset(bench.qps[0]);
    bench.post(bench.own[0], 1);
    *bench.memory.at(bench.own[0].ring + 3) = 77;
  });
  bench.run();
  CHECK(bench.notes.list == Noted{{0, 10_ns + kRead * 4}});
  CHECK(bench.last.capacity == 77);
  CHECK(bench.contexts[0].receive_consumer == 1);
}

TEST_CASE("receives of a queue pair in error are counted without their entries") {
  Bench bench;
  bench.post(bench.own[0], 3);
  bench.flush_at(10_ns);
  bench.run();
  const Time read = 10_ns + kRead;
  CHECK(bench.notes.list == Noted{{0, read}, {1, read}, {2, read}, {kEmpty, read + kRead}});
  CHECK(bench.memory.of(DmaPurpose::kReceiveQueue).empty());
  CHECK(bench.contexts[0].receive_consumer == 3);
  // What is posted then is flushed when software rings.
  bench.notes.list.clear();
  bench.post(bench.own[0], 1);
  bench.flush_at(5_us);
  bench.run();
  CHECK(bench.notes.list == Noted{{3, 5_us + kRead}, {kEmpty, 5_us + kRead * 2}});
}

TEST_CASE("entries being fetched when the queue pair fails are flushed too") {
  Bench bench;
  bench.set_ring(0, 6);
  bench.post(bench.own[0], 10);
  bench.ask_at(10_ns);
  bench.flush_at(700_ns);  // the first has been taken, seven are here, two on their way
  bench.run();
  REQUIRE(bench.notes.list.size() == 11);
  CHECK(bench.notes.list[0] == std::make_pair(std::uint64_t{0}, 10_ns + kRead * 2));
  for (std::uint64_t i = 1; i < 10; ++i)
    CHECK(bench.notes.list[i] == std::make_pair(i, Time::ns(700)));
  CHECK(bench.notes.list[10] == std::make_pair(kEmpty, 10_ns + kRead * 4));
}
