// SPDX-License-Identifier: MIT
#include "nic/page_faults.h"

#include <catch2/catch.hpp>

#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;
using test::Noted;

namespace {

const Clock kClock{Frequency::mhz(400)};
constexpr std::uint64_t kRing = 0x10000;
constexpr unsigned kLogPage = 12;
constexpr Time kFirmware = Time::us(2);

PageFaultsConfig config(std::uint32_t outstanding) {
  PageFaultsConfig config;
  config.outstanding = outstanding;
  config.latency = kFirmware;
  return config;
}

struct Bench : EndpointBench {
  explicit Bench(std::uint32_t outstanding = 4)
      : events(scheduler, kClock, pcie, EventQueueConfig{}),
        faults(scheduler, events, config(outstanding)) {
    abi::EqContext context;
    context.log_size = 4;
    context.ring = PhysicalAddress(kRing);
    context.msix_address = PhysicalAddress(0x20000);
    REQUIRE(events.create(EventQueue::kAsyncEqn, context));
  }
  static abi::PageFault fault(std::uint32_t key, std::uint64_t address) {
    return {MemoryKey(key, 1), VirtualAddress(address), 100, 5000};
  }
  void raise(Time time, std::uint32_t key, std::uint64_t address, std::uint64_t note) {
    at(time, [=] { faults.raise(fault(key, address), kLogPage, {}, notes.noting(note)); });
  }
  void resume(Time time, std::uint32_t number) {
    at(time, [=] { faults.resume(number); });
  }
  abi::Eqe entry(std::uint32_t place) {
    return abi::Eqe::read(memory.at(kRing + std::uint64_t{place} * abi::Eqe::kBytes));
  }
  std::size_t told() { return memory.of(DmaPurpose::kEventQueue).size(); }
  std::uint64_t metric(const std::string& name) { return test::metrics_of(faults).at(name); }

  EventQueue events;
  PageFaults faults;
};

}  // namespace

TEST_CASE(
    "the driver is told of a fault after the firmware's work, and its answer wakes the asker") {
  Bench bench;
  bench.raise(100_ns, 3, 0x5432, 7);
  bench.at(3_us, [&] { bench.faults.resume(bench.entry(0).object); });
  bench.run();
  REQUIRE(bench.told() == 1);
  CHECK(bench.memory.of(DmaPurpose::kEventQueue)[0].begin ==
        kClock.after(100_ns + kFirmware, Cycles(6)));
  const abi::Eqe entry = bench.entry(0);
  CHECK(entry.type == abi::EventType::kPageFault);
  CHECK(entry.fault.key == MemoryKey(3, 1));
  CHECK(entry.fault.address == VirtualAddress(0x5432));
  CHECK(entry.fault.bytes == 100);
  CHECK(entry.fault.ahead == 5000);
  CHECK(bench.notes.list == Noted{{7, 3_us}});
  CHECK(bench.faults.idle());
  CHECK(bench.metric("faults") == 1);
  CHECK(bench.metric("busy") == static_cast<std::uint64_t>((3_us - 100_ns).ps()));
}

TEST_CASE("a page has one fault at a time, whoever misses it; its neighbour has its own") {
  Bench bench;
  bench.raise(100_ns, 3, 0x5000, 1);
  bench.raise(200_ns, 3, 0x5fff, 2);
  bench.raise(300_ns, 3, 0x6000, 3);
  bench.raise(400_ns, 4, 0x5000, 4);
  bench.at(5_us, [&] { bench.faults.resume(bench.entry(0).object); });
  bench.at(6_us, [&] { bench.faults.resume(bench.entry(1).object); });
  bench.at(7_us, [&] { bench.faults.resume(bench.entry(2).object); });
  bench.run();
  CHECK(bench.told() == 3);
  CHECK(bench.notes.list == Noted{{1, 5_us}, {2, 5_us}, {3, 6_us}, {4, 7_us}});
  CHECK(bench.metric("joined") == 1);
  CHECK(bench.metric("occupancy.max") == 3);
}

TEST_CASE("who asks twice while the fault is under way is woken once") {
  Bench bench;
  bench.raise(100_ns, 3, 0x5000, 1);
  bench.raise(200_ns, 3, 0x5000, 1);
  bench.at(5_us, [&] { bench.faults.resume(bench.entry(0).object); });
  bench.run();
  CHECK(bench.notes.list == Noted{{1, 5_us}});
}

TEST_CASE("an access that finds no free record looks again when there is one") {
  Bench bench(1);
  bench.raise(100_ns, 3, 0x5000, 1);
  bench.raise(200_ns, 3, 0x9000, 2);
  bench.at(5_us, [&] { bench.faults.resume(bench.entry(0).object); });
  bench.run();
  CHECK(bench.told() == 1);
  CHECK(bench.notes.list == Noted{{1, 5_us}, {2, 5_us}});
  CHECK(bench.metric("stalled.full") == 1);
}

TEST_CASE("an answer to a fault that is over, or never was, is counted and changes nothing") {
  Bench bench(1);
  std::uint32_t first = 0;
  bench.raise(100_ns, 3, 0x5000, 1);
  bench.at(5_us, [&] {
    first = bench.entry(0).object;
    bench.faults.resume(first);
  });
  bench.raise(6_us, 3, 0x7000, 2);
  bench.at(9_us, [&] {
    bench.faults.resume(first);   // the record is another fault's now
    bench.faults.resume(0x1234);  // there is no such record
  });
  bench.run();
  CHECK(bench.entry(1).object != first);
  CHECK(bench.notes.list == Noted{{1, 5_us}});
  CHECK(bench.metric("strays") == 2);
  CHECK_FALSE(bench.faults.idle());
}

TEST_CASE(
    "a key that goes ends its faults, and the driver is not told of what it knows to be over") {
  Bench bench;
  bench.raise(100_ns, 3, 0x5000, 1);
  bench.raise(200_ns, 4, 0x5000, 2);
  bench.at(1_us, [&] { bench.faults.forget(3); });
  bench.run();
  REQUIRE(bench.told() == 1);
  CHECK(bench.entry(0).fault.key.index() == 4);
  CHECK(bench.notes.list == Noted{{1, 1_us}});
}
