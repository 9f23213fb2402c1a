// SPDX-License-Identifier: MIT
#include "nic/ethernet/ethernet_completions.h"

#include <catch2/catch.hpp>

#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::EndpointBench;

namespace {

constexpr std::uint64_t kEntries = 0x8000;
constexpr std::uint64_t kMessage = 0x4000;
constexpr std::uint32_t kQueue = 3;
const Clock kClock{Frequency::mhz(400)};
constexpr Time kPipeline = Time::ps(15000);  // 6 cycles

/// One receive queue of four places.
struct Bench : EndpointBench {
  explicit Bench(std::uint16_t frames, std::uint16_t period_us) {
    abi::EthernetQueueContext context;
    context.direction = abi::EthernetDirection::kReceive;
    context.log_entries = 2;
    context.completions = PhysicalAddress(kEntries);
    context.msix_address = PhysicalAddress(kMessage);
    context.msix_data = 0x77;
    context.moderation_frames = frames;
    context.moderation_us = period_us;
    completions.open(kQueue, context);
  }
  void entry_at(Time time) {
    at(time, [this] {
      abi::EthernetReceiveCompletion entry;
      entry.bytes = ++written;
      completions.write(kQueue, entry);
    });
  }
  void arm_at(Time time, std::uint32_t consumer) {
    at(time, [this, consumer] { completions.arm(kQueue, consumer); });
  }
  std::vector<Time> times_of(DmaPurpose purpose) const {
    std::vector<Time> times;
    for (const auto& access : memory.of(purpose)) times.push_back(access.begin);
    return times;
  }
  std::vector<Time> messages() const { return times_of(DmaPurpose::kInterrupt); }
  abi::EthernetReceiveCompletion entry(std::uint32_t place) {
    return abi::EthernetReceiveCompletion::read(
        memory.at(kEntries + std::uint64_t{place} * abi::EthernetReceiveCompletion::kBytes));
  }

  Probe probe;
  EthernetCompletions completions{scheduler, kClock, pcie, {Cycles(6), Cycles(2)}, probe};
  std::uint32_t written = 0;
};
using Times = std::vector<Time>;

}  // namespace

TEST_CASE("entries take the ring's places in turn, and the owner bit changes with each round") {
  Bench bench(1, 0);
  for (int i = 0; i < 5; ++i) bench.entry_at(1_us);
  bench.run();
  // Ready at once, they follow each other through the pipeline at two cycles.
  Times expected;
  for (int i = 0; i < 5; ++i) expected.push_back(1_us + kPipeline + Time::ns(5) * i);
  CHECK(bench.times_of(DmaPurpose::kFrameQueue) == expected);
  CHECK(bench.entry(0).bytes == 5);
  CHECK(bench.entry(0).owner);
  CHECK(bench.entry(1).bytes == 2);
  CHECK_FALSE(bench.entry(1).owner);
  CHECK(bench.messages().empty());
  CHECK(bench.completions.idle());
}

TEST_CASE("an armed queue has one message, behind the first entry that software has not seen") {
  Bench bench(1, 0);
  bench.arm_at(1_us, 0);
  bench.entry_at(2_us);
  bench.entry_at(3_us);
  bench.arm_at(4_us, 2);
  bench.entry_at(5_us);
  bench.arm_at(6_us, 2);  // an entry that it has not seen is there already
  bench.run();
  CHECK(bench.messages() == Times{2_us + kPipeline, 5_us + kPipeline, 6_us});
}

TEST_CASE("moderation holds the message back until so many entries are there") {
  Bench bench(3, 16);
  bench.arm_at(0_us, 0);
  for (const Time time : {2_us, 3_us, 4_us}) bench.entry_at(time);
  bench.run();
  CHECK(bench.messages() == Times{4_us + kPipeline});
  CHECK(test::metrics_of(bench.completions).at("held_back") == 1);
}

TEST_CASE("moderation holds it back no longer than its period after the first") {
  Bench bench(3, 16);
  bench.arm_at(0_us, 0);
  for (const Time time : {2_us, 3_us, 30_us}) bench.entry_at(time);
  bench.run();
  CHECK(bench.messages() == Times{2_us + kPipeline + 16_us});
}

TEST_CASE("who arms again meanwhile, having seen the entries, starts the period anew") {
  Bench bench(3, 16);
  bench.arm_at(0_us, 0);
  bench.entry_at(2_us);
  bench.arm_at(10_us, 1);
  bench.entry_at(12_us);
  bench.run();
  CHECK(bench.messages() == Times{12_us + kPipeline + 16_us});
}

TEST_CASE("a queue that is closed sends no message, whatever it held back") {
  Bench bench(3, 16);
  bench.arm_at(0_us, 0);
  bench.entry_at(2_us);
  bench.at(5_us, [&] { bench.completions.close(kQueue); });
  bench.entry_at(6_us);
  bench.run();
  CHECK(bench.messages().empty());
  CHECK(bench.times_of(DmaPurpose::kFrameQueue).size() == 1);
  CHECK(bench.completions.idle());
  CHECK_FALSE(bench.completions.arm(kQueue, 0));
  CHECK_FALSE(bench.completions.arm(kQueue + 1, 0));
}
