// SPDX-License-Identifier: MIT
#include "nic/event_queue.h"

#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using abi::EventType;
using test::EndpointBench;

namespace {

const Clock kClock{Frequency::mhz(400)};
constexpr std::uint64_t kRing = 0x10000;
constexpr std::uint64_t kMessage = 0x20000;

struct Bench : EndpointBench {
  explicit Bench(const EventQueueConfig& config = {}, std::uint8_t log_size = 2)
      : events(scheduler, kClock, pcie, config) {
    context.log_size = log_size;
    context.ring = PhysicalAddress(kRing);
    context.msix_address = PhysicalAddress(kMessage);
    context.msix_data = 0x01020304;
    REQUIRE(events.create(1, context));
  }
  abi::Eqe entry(std::uint32_t place) {
    return abi::Eqe::read(memory.at(kRing + std::uint64_t{place} * abi::Eqe::kBytes));
  }
  std::uint64_t metric(const std::string& name) { return test::metrics_of(events).at(name); }
  std::vector<Time> begins(DmaPurpose purpose) {
    std::vector<Time> times;
    for (const auto& access : memory.of(purpose)) times.push_back(access.begin);
    return times;
  }
  abi::EqContext context;
  EventQueue events;
};

using Times = std::vector<Time>;

}  // namespace

TEST_CASE("an event of an armed queue is written and then followed by its message") {
  Bench bench;
  bench.at(100_ns, [&] { bench.events.arm(1, 0); });
  bench.at(201_ns, [&] { bench.events.async(EventType::kQpError, 0x123456); });
  bench.run();
  REQUIRE(bench.memory.log.size() == 2);
  const auto& entry = bench.memory.log[0];
  const auto& message = bench.memory.log[1];
  CHECK(entry.purpose == DmaPurpose::kEventQueue);
  CHECK(entry.address == kRing);
  CHECK(entry.bytes == 64);
  CHECK(message.purpose == DmaPurpose::kInterrupt);
  CHECK(message.address == kMessage);
  CHECK(message.bytes == 4);
  for (const auto& access : bench.memory.log) {
    CHECK(access.write);
    CHECK(access.engine == DmaEngineId::kPosted);
    CHECK_FALSE(access.relaxed_ordering);
    CHECK(access.begin == kClock.after(201_ns, Cycles(6)));
  }
  CHECK(load_be32(bench.memory.at(kMessage)) == 0x01020304);
  CHECK(bench.entry(0).type == EventType::kQpError);
  CHECK(bench.entry(0).object == 0x123456);
  CHECK_FALSE(bench.entry(0).owner);
  CHECK(bench.events.idle());
}

TEST_CASE("a queue that is not armed sends no message until it is armed") {
  Bench bench;
  bench.at(100_ns, [&] { bench.events.async(EventType::kSrqLimit, 3); });
  bench.at(1_us, [&] { bench.events.arm(1, 0); });
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{kClock.after(100_ns, Cycles(6))});
  CHECK(bench.begins(DmaPurpose::kInterrupt) == Times{kClock.after(1_us, Cycles(6))});
  CHECK(bench.metric("messages") == 1);
}

TEST_CASE("each arming is worth one message") {
  Bench bench;
  bench.at(100_ns, [&] { bench.events.arm(1, 0); });
  for (const Time time : {200_ns, 300_ns, 400_ns})
    bench.at(time, [&] { bench.events.async(EventType::kQpError, 7); });
  bench.at(1_us, [&] { bench.events.arm(1, 3); });  // software has taken all three
  bench.at(2_us, [&] { bench.events.async(EventType::kQpError, 8); });
  bench.run();
  CHECK(bench.begins(DmaPurpose::kInterrupt) ==
        Times{kClock.after(200_ns, Cycles(6)), kClock.after(2_us, Cycles(6))});
  CHECK(bench.metric("events") == 4);
}

TEST_CASE("an event on its way when the queue is armed sends the message") {
  Bench bench;
  bench.at(100_ns, [&] { bench.events.async(EventType::kQpError, 7); });
  bench.at(101_ns, [&] { bench.events.arm(1, 0); });
  bench.run();
  CHECK(bench.begins(DmaPurpose::kInterrupt) == Times{kClock.after(100_ns, Cycles(6))});
}

TEST_CASE("events follow each other at the interval, and the owner bit toggles with each lap") {
  Bench bench({}, 1);
  bench.at(100_ns, [&] {
    for (std::uint32_t i = 0; i < 5; ++i) bench.events.async(EventType::kQpError, i);
  });
  bench.run();
  const auto writes = bench.memory.of(DmaPurpose::kEventQueue);
  REQUIRE(writes.size() == 5);
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(writes[i].begin == kClock.after(100_ns, Cycles(6 + 2 * i)));
    CHECK(writes[i].address == kRing + (i % 2) * 64);
  }
  CHECK(bench.entry(0).object == 4);
  CHECK_FALSE(bench.entry(0).owner);  // lap 2
  CHECK(bench.entry(1).object == 3);
  CHECK(bench.entry(1).owner);  // lap 1
  CHECK(bench.metric("stalled.interval") == static_cast<std::uint64_t>((50_ns).ps()));
  CHECK(bench.metric("busy") == static_cast<std::uint64_t>((25_ns).ps()));
  CHECK(bench.metric("occupancy.max") == 5);
}

TEST_CASE("entries written over ones that software has not taken are counted") {
  Bench bench({}, 1);
  bench.at(100_ns, [&] {
    for (int i = 0; i < 2; ++i) bench.events.async(EventType::kQpError, 1);
  });
  bench.run();
  CHECK(bench.metric("overruns") == 0);
  bench.at(1_us, [&] {
    bench.events.arm(1, 1);
    for (int i = 0; i < 3; ++i) bench.events.async(EventType::kQpError, 1);
  });
  bench.run();
  CHECK(bench.metric("overruns") == 2);
  CHECK(bench.metric("events") == 5);
}

TEST_CASE("an event of a queue that does not exist is lost, and counted") {
  Bench bench;
  bench.at(100_ns, [&] {
    bench.events.post(0, EventType::kQpError, 1);
    bench.events.post(2, EventType::kQpError, 1);
    bench.events.post(1000, EventType::kQpError, 1);
    bench.events.arm(2, 0);
  });
  bench.run();
  CHECK(bench.memory.log.empty());
  CHECK(bench.metric("lost") == 3);
}

TEST_CASE("queues are made once, within their number, and can be made again") {
  EventQueueConfig config;
  config.queues = 2;
  Bench bench(config);
  abi::EqContext unusable = bench.context;
  unusable.log_size = 25;
  CHECK_FALSE(bench.events.create(1, bench.context));
  CHECK_FALSE(bench.events.create(0, bench.context));
  CHECK_FALSE(bench.events.create(3, bench.context));
  CHECK_FALSE(bench.events.create(2, unusable));
  CHECK(bench.events.create(2, bench.context));
  bench.at(100_ns, [&] { bench.events.async(EventType::kQpError, 1); });
  bench.run();
  CHECK(bench.events.destroy(1));
  CHECK_FALSE(bench.events.destroy(1));
  CHECK(bench.events.create(1, bench.context));
  bench.at(1_us, [&] { bench.events.async(EventType::kQpError, 2); });
  bench.run();
  CHECK(bench.memory.of(DmaPurpose::kEventQueue).back().address == kRing);  // begins anew
  bench.events.reset();
  CHECK_FALSE(bench.events.destroy(1));
}

TEST_CASE("a full block says when it has room again, and takes every event all the same") {
  EventQueueConfig config;
  config.queue = 2;
  config.pipeline = {Cycles(10), Cycles(4)};
  Bench bench(config);
  bench.events.connect(bench.notes.noting(1));
  bench.at(100_ns, [&] {
    bench.events.async(EventType::kQpError, 1);
    CHECK(bench.events.has_room());
    bench.events.async(EventType::kQpError, 2);
    CHECK_FALSE(bench.events.has_room());
    bench.events.async(EventType::kQpError, 3);
  });
  bench.run();
  CHECK(bench.notes.list == test::Noted{{1, kClock.after(100_ns, Cycles(14))}});
  CHECK(bench.metric("events") == 3);
}
