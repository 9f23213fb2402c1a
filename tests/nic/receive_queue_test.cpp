// SPDX-License-Identifier: MIT
#include "nic/receive_queue.h"

#include <catch2/catch.hpp>

#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using test::Noted;
using Taken = ReceiveQueues::Taken;

namespace {

constexpr Time kRead = EndpointBench::kRead;
constexpr std::uint64_t kTable = 0x1000;
constexpr std::uint64_t kEmpty = 999;  // noted for "none posted"
constexpr std::uint32_t kEntryBytes = 32;
constexpr std::uint32_t kSrq = 3;

std::uint64_t ps(Time time) { return static_cast<std::uint64_t>(time.ps()); }

/// A ring of entries of two segments in host RAM, as software keeps it.
struct Software {
  std::uint64_t ring;
  std::uint64_t record;
  std::uint8_t log_entries = 3;
  std::uint32_t posted = 0;
};

/// Two queue pairs with rings of their own, two shared rings.
struct Bench : EndpointBench {
  explicit Bench(const ReceiveQueuesConfig& config = {}, std::uint32_t srq_contexts = 4)
      : srqs(scheduler, pcie, cache(srq_contexts), DmaPurpose::kSrqContext, "srqs", 1),
        receives(scheduler, clock, pcie, srqs, config) {
    receives.connect(call<&Bench::note_limit>(this));
    receives.set_table(PhysicalAddress(kTable), 16);
    for (std::uint32_t i = 0; i < 2; ++i) {
      contexts[i].flags = abi::QpContext::kHasReceiveQueue;
      set_ring(i, 3);
    }
    write_srq(kSrq, shared);
    write_srq(kSrq + 1, other_shared);
  }
  static HostTableCacheConfig cache(std::uint32_t entries) {
    HostTableCacheConfig config;
    config.geometry = {entries, entries, Replacement::kLru};
    return config;
  }

  void set_ring(std::uint32_t qp, std::uint8_t log_entries) {
    own[qp].log_entries = log_entries;
    contexts[qp].receive_ring = PhysicalAddress(own[qp].ring);
    contexts[qp].doorbell_record = PhysicalAddress(own[qp].record);
    contexts[qp].log_receive_entries = log_entries;
    contexts[qp].log_receive_segments = 1;
  }
  void write_srq(std::uint32_t srqn, const Software& software) {
    abi::SrqContext context;
    context.valid = true;
    context.log_entries = software.log_entries;
    context.log_segments = 1;
    context.ring = PhysicalAddress(software.ring);
    context.doorbell_record = PhysicalAddress(software.record);
    context.write(srq_entry(srqn));
  }
  std::uint8_t* srq_entry(std::uint32_t srqn) {
    return memory.at(kTable + std::uint64_t{srqn} * abi::SrqContext::kBytes);
  }
  void set_limit(std::uint32_t srqn, std::uint16_t limit) {
    abi::SrqContext context = abi::SrqContext::read(srq_entry(srqn));
    context.limit = limit;
    context.write(srq_entry(srqn));
  }
  void use_shared(std::uint32_t srqn = kSrq) {
    for (auto& context : contexts) {
      context.flags = 0;
      context.srqn = srqn;
    }
  }

  /// Posts receives of one segment of 100 B and more.
  void post(Software& software, std::uint32_t count) {
    for (; count != 0; --count) {
      const std::uint32_t index = software.posted & ((1U << software.log_entries) - 1);
      std::uint8_t* entry = memory.at(software.ring + std::uint64_t{index} * kEntryBytes);
      abi::DataSegment{100 + software.posted, MemoryKey(0x700), VirtualAddress(0x5000)}.write(
          entry);
      abi::DataSegment{0, abi::kEndOfList, {}}.write(entry + abi::kSegmentBytes);
      ++software.posted;
    }
    abi::DoorbellRecord{software.posted, 0}.write(memory.at(software.record));
  }

  /// A packet of the queue pair asks until it has a receive, or there is none.
  void ask(std::uint64_t qp) {
    switch (receives.take(qps[qp], contexts[qp], last, call<&Bench::ask>(this, qp))) {
      case Taken::kReady:
        notes.note(qp * 1000 + last.counter);
        break;
      case Taken::kEmpty:
        notes.note(qp * 1000 + kEmpty);
        break;
      case Taken::kWait:
        break;
    }
  }
  void ask_at(Time time, std::uint64_t qp = 0) { scheduler.at(time, call<&Bench::ask>(this, qp)); }
  /// Flushes the queue pair's receives until there are no more.
  void flush(std::uint64_t qp) {
    std::uint16_t counter = 0;
    Taken taken;
    while ((taken = receives.take_for_flush(qps[qp], contexts[qp], counter,
                                            call<&Bench::flush>(this, qp))) == Taken::kReady)
      notes.note(qp * 1000 + counter);
    if (taken == Taken::kEmpty) notes.note(qp * 1000 + kEmpty);
  }
  void flush_at(Time time) { scheduler.at(time, call<&Bench::flush>(this)); }
  void note_limit(std::uint64_t srqn) { notes.note(5000 + srqn); }

  std::vector<std::pair<Time, std::uint32_t>> reads(DmaPurpose purpose) {
    std::vector<std::pair<Time, std::uint32_t>> found;
    for (const auto& access : memory.of(purpose)) found.emplace_back(access.begin, access.bytes);
    return found;
  }
  std::uint64_t metric(const std::string& name) { return test::metrics_of(receives).at(name); }

  Clock clock{Frequency::mhz(400)};
  SrqContextCache srqs;
  ReceiveQueues receives;
  NicQueuePair qps[2] = {NicQueuePair(Qpn(1)), NicQueuePair(Qpn(2))};
  abi::QpContext contexts[2];
  Software own[2] = {{0x10000, 0x8000}, {0x20000, 0x8040}};
  Software shared{0x30000, 0x8080};
  Software other_shared{0x38000, 0x80c0};
  Receive last;
};
using Reads = std::vector<std::pair<Time, std::uint32_t>>;

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

TEST_CASE("two queue pairs take from one shared queue in the order of their asking") {
  Bench bench;
  bench.use_shared();
  bench.post(bench.shared, 2);
  bench.ask_at(10_ns, 0);
  bench.ask_at(20_ns, 1);
  bench.run();
  // Context, record, entries: one read each, for both.
  CHECK(bench.notes.list == Noted{{0, 10_ns + kRead * 3}, {1001, 10_ns + kRead * 3}});
  CHECK(bench.memory.log.size() == 3);
  CHECK(bench.memory.log[0].purpose == DmaPurpose::kSrqContext);
  // Look-ups of one instant pass the cache's port one after another.
  CHECK(bench.last.ready == 10_ns + kRead * 3 + 2500_ps);
  CHECK(bench.contexts[0].receive_consumer == 0);
  CHECK(bench.srqs.peek(kSrq)->consumer == 2);
}

TEST_CASE("each queue pair is told that a shared queue is empty after a record read of its own") {
  Bench bench;
  bench.use_shared();
  bench.post(bench.shared, 1);
  bench.ask_at(10_ns, 0);
  bench.ask_at(2_us, 0);
  bench.ask_at(Time::ns(2100), 1);
  bench.run();
  CHECK(bench.notes.list ==
        Noted{{0, 10_ns + kRead * 3}, {kEmpty, 2_us + kRead}, {1000 + kEmpty, 2_us + kRead * 2}});
}

TEST_CASE("a shared queue that does not exist has none posted") {
  Bench bench;
  bench.use_shared(7);          // not created
  bench.contexts[1].srqn = 16;  // beyond the table
  bench.ask_at(10_ns, 0);
  bench.ask_at(10_ns, 1);
  bench.run();
  CHECK(bench.notes.list == Noted{{1000 + kEmpty, 10_ns}, {kEmpty, 10_ns + kRead}});
}

TEST_CASE("an event says once that fewer receives than the limit are left") {
  Bench bench;
  bench.use_shared();
  bench.post(bench.shared, 5);
  bench.ask_at(10_ns);
  bench.at(2_us, [&] {
    bench.set_limit(kSrq, 3);
    bench.receives.arm_srq(kSrq, bench.notes.noting(42));
  });
  for (int i = 3; i < 6; ++i) bench.ask_at(Time::us(1) * i);
  bench.run();
  // The record is read once more before the event: it may have been behind.
  CHECK(bench.notes.list == Noted{{0, 10_ns + kRead * 3},
                                  {42, 2_us + kRead},
                                  {1, 3_us},
                                  {2, 4_us},
                                  {5000 + kSrq, 4_us + kRead},
                                  {3, 5_us}});
  CHECK(bench.metric("limit_events") == 1);
}

TEST_CASE("receives posted in time keep the limit's event away") {
  Bench bench;
  bench.use_shared();
  bench.post(bench.shared, 5);
  bench.ask_at(10_ns);
  bench.at(2_us, [&] {
    bench.set_limit(kSrq, 4);
    bench.receives.arm_srq(kSrq, bench.notes.noting(42));
  });
  bench.at(3_us, [&] { bench.post(bench.shared, 3); });
  bench.ask_at(4_us);
  bench.run();
  CHECK(bench.notes.list == Noted{{0, 10_ns + kRead * 3}, {42, 2_us + kRead}, {1, 4_us}});
  CHECK(bench.reads(DmaPurpose::kDoorbellRecord) == Reads{{10_ns + kRead, 8}, {4_us, 8}});
}

TEST_CASE("a limit that is passed already when it is armed gives its event at once") {
  Bench bench;
  bench.set_limit(kSrq, 2);
  bench.post(bench.shared, 1);
  bench.at(10_ns, [&] { bench.receives.arm_srq(kSrq, bench.notes.noting(42)); });
  bench.run();
  CHECK(bench.notes.list == Noted{{42, 10_ns + kRead * 2}, {5000 + kSrq, 10_ns + kRead * 3}});
  CHECK(bench.receives.idle());
}

TEST_CASE("an evicted context is written back without the limit that the driver wrote") {
  Bench bench({}, 1);
  bench.use_shared();
  bench.post(bench.shared, 3);
  bench.post(bench.other_shared, 1);
  bench.ask_at(10_ns);
  bench.at(1_us, [&] { bench.set_limit(kSrq, 9); });
  bench.at(2_us, [&] { bench.contexts[1].srqn = kSrq + 1; });
  bench.ask_at(2_us, 1);
  bench.ask_at(5_us);
  bench.run();
  CHECK(bench.notes.list ==
        Noted{{0, 10_ns + kRead * 3}, {1000, 2_us + kRead * 3}, {1, 5_us + kRead}});
  const abi::SrqContext context = abi::SrqContext::read(bench.srq_entry(kSrq));
  CHECK(context.consumer == 1);
  CHECK(context.limit == 9);
  CHECK(context.valid);
  REQUIRE(bench.memory.log[4].write);
  CHECK(bench.memory.log[4].bytes == 4);
}

TEST_CASE("a shared queue created again under its number starts anew") {
  Bench bench;
  bench.use_shared();
  bench.post(bench.shared, 3);
  bench.ask_at(10_ns);
  bench.at(2_us, [&] {
    bench.receives.forget_srq(kSrq);
    bench.shared = {0x32000, 0x8080, 4};
    bench.write_srq(kSrq, bench.shared);
    bench.post(bench.shared, 1);
    bench.receives.forget_srq(kSrq);
  });
  bench.ask_at(3_us);
  bench.run();
  CHECK(bench.notes.list == Noted{{0, 10_ns + kRead * 3}, {0, 3_us + kRead * 3}});
}
