// SPDX-License-Identifier: MIT
#include "nic/ring_exerciser.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/support/fake_dma_memory.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;

constexpr auto kTx = RingExerciser::kTransmit;
constexpr auto kRx = RingExerciser::kReceive;

/// Reads take 400 ns, writes leave after 10 ns, stores take 100 ns, loads 200 ns.
struct Bench : sc_core::sc_module, RingExerciser::Host {
  explicit Bench(const sc_core::sc_module_name& name = "bench") : sc_module(name) {
    pcie.socket.bind(memory.socket);
    job.memory = PhysicalAddress(0);
    job.next = [this] { return PhysicalAddress((2 << 20) + 2048 * (nth++ % 64)); };
    job.host = this;
  }

  void run() {
    rings.run(job, call<&Bench::end>(this));
    scheduler.run_until(10_ms);
    CHECK(ended);
    CHECK(pcie.idle());
  }
  void store_tail(RingExerciser::Direction ring) override {
    ++tails[ring];
    scheduler.at(scheduler.now() + 100_ns, call<&Bench::stored>(this, ring));
  }
  void load_head(RingExerciser::Direction ring, Callback done) override {
    ++heads[ring];
    loaded_at = scheduler.now();
    scheduler.at(scheduler.now() + 200_ns, done);
  }
  std::string log() const {
    std::string text;
    for (const auto& access : memory.log)
      text += (text.empty() ? "" : ", ") + std::to_string(access.begin.ps() / 1000) +
              (access.write ? " write " : " read ") + std::to_string(access.bytes);
    return text;
  }

  Scheduler scheduler{"scheduler"};
  test::FakeDmaMemory memory{"memory", scheduler, 400_ns, 10_ns};
  PcieEndpoint pcie{scheduler, config(), 512_B, "pcie"};
  RingExerciser rings{scheduler, pcie, 128};
  RingExerciser::Job job;
  std::uint64_t nth = 0;
  std::uint64_t tails[2] = {};
  std::uint64_t heads[2] = {};
  Time loaded_at;
  bool ended = false;

 private:
  static PcieEndpointConfig config() {
    PcieEndpointConfig config;
    config.tags = 256;
    config.read_buffer = 1_MiB;
    return config;
  }
  void stored(std::uint64_t ring) {
    rings.tail_stored(static_cast<RingExerciser::Direction>(ring));
  }
  void end() { ended = true; }
};

/// Of a driver that works in batches.
DescriptorRingStyle batches() {
  DescriptorRingStyle style;
  style.entries = 480;
  style.fetch_every = 40;
  style.write_back_every = 8;
  style.interrupt_every = 32;
  style.head_every = 4;
  return style;
}

}  // namespace

TEST_CASE("A sent packet is a tail, a descriptor, the packet, a write-back, an interrupt, a head") {
  Bench bench;
  bench.job.rings[kTx].emplace();
  bench.run();
  CHECK(bench.log() == "100 read 16, 500 read 64, 900 write 16, 900 write 4");
  CHECK(bench.tails[kTx] == 1);
  CHECK(bench.heads[kTx] == 1);
  CHECK(bench.loaded_at == 900_ns);
}

TEST_CASE("A received packet is written, and its descriptor behind it") {
  Bench bench;
  bench.job.rings[kRx].emplace();
  bench.job.bytes = 1500;
  bench.run();
  CHECK(bench.log() == "100 read 16, 500 write 1500, 510 write 16, 510 write 4");
  CHECK(bench.memory.log[1].address >= 2 << 20);
  CHECK(bench.memory.log[0].address == RingExerciser::kRingBytes);
}

TEST_CASE("What is done for many packets at once is done that much more seldom") {
  Bench bench;
  bench.job.rings[kTx] = batches();
  bench.job.rings[kTx]->tail_every = 40;
  bench.job.count = 960;
  bench.run();
  CHECK(bench.tails[kTx] == 24);
  CHECK(bench.heads[kTx] == 240);
  std::uint64_t write_backs = 0;
  std::uint64_t fetches = 0;
  for (const auto& access : bench.memory.of(DmaPurpose::kFrameQueue)) {
    ++(access.write ? write_backs : fetches);
    CHECK(access.bytes == (access.write ? 128 : 640));
  }
  CHECK(write_backs == 120);
  CHECK(fetches == 24);
  CHECK(bench.memory.of(DmaPurpose::kInterrupt).size() == 30);
  CHECK(bench.memory.of(DmaPurpose::kFrame).size() == 960);
}

TEST_CASE("A driver that polls descriptors gets no interrupts and reads no heads") {
  Bench bench;
  DescriptorRingStyle style;
  style.tail_every = 32;
  style.interrupt_every = style.head_every = 0;
  bench.job.rings[kTx] = style;
  bench.job.count = 100;
  bench.run();
  CHECK(bench.tails[kTx] == 4);
  CHECK(bench.heads[kTx] == 0);
  CHECK(bench.memory.of(DmaPurpose::kInterrupt).empty());
}

TEST_CASE("The host posts no more than the ring has, and again what it knows to be finished") {
  Bench bench;
  DescriptorRingStyle style;
  style.entries = 64;
  bench.job.rings[kTx] = style;
  bench.job.count = 65;
  bench.run();
  const auto packets = bench.memory.of(DmaPurpose::kFrame);
  REQUIRE(packets.size() == 65);
  CHECK(packets[63].begin == 500_ns);
  // The first head has been read 1100 ns after the beginning; then store, descriptor, packet.
  CHECK(packets[64].begin == 1100_ns + 100_ns + 400_ns);
}

TEST_CASE("Two rings handle equally many packets, neither far ahead of the other") {
  Bench bench;
  bench.job.rings[kTx].emplace();
  bench.job.rings[kRx] = batches();
  bench.job.count = 1000;
  bench.run();
  std::int64_t ahead = 0;
  std::uint64_t received = 0;
  for (const auto& access : bench.memory.of(DmaPurpose::kFrame)) {
    ahead += access.write ? 1 : -1;
    received += access.write ? 1 : 0;
    CHECK(std::abs(ahead) <= 72);  // 64, and what the endpoint has not begun yet
  }
  CHECK(ahead == 0);
  CHECK(received == 1000);
  CHECK(bench.rings.outcome().packets == 800);
}
