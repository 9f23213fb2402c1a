// SPDX-License-Identifier: MIT
// Receive queues that several queue pairs share, and the event of their limit.
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
constexpr std::uint32_t kSrq = Bench::kSrq;

}  // namespace

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
