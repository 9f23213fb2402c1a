// SPDX-License-Identifier: MIT
// DMA writes of a device.
#include "host/pcie_link.h"

#include <catch2/catch.hpp>

#include "tests/support/link_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Bench = test::LinkBench;
using test::kLinkByte;
using test::pattern;

TEST_CASE("A 4 KiB write is handed when sent and visible 260 ns later") {
  Bench bench;
  const auto data = pattern(4096);
  auto& write = bench.device.write(0x2000, data);
  bench.device.start_at(1_us, write);
  const Time handed = 1_us + kLinkByte.of(Bytes(4096 + 16 * 24));
  bench.scheduler.run_until(handed + 259_ns);
  CHECK(write.finished);
  CHECK(write.done.ps() == handed.ps());
  std::vector<std::uint8_t> back(4096);
  bench.memory.load(PhysicalAddress(0x2000), back.data(), back.size());
  CHECK(back == std::vector<std::uint8_t>(4096, 0));
  bench.run();
  bench.memory.load(PhysicalAddress(0x2000), back.data(), back.size());
  CHECK(back == data);
  REQUIRE(bench.landings.records.size() == 1);
  const Time last = handed + 125_ns + 25_ns + 110_ns;
  CHECK(bench.landings.records[0].time.ps() == last.ps());
  CHECK(bench.landings.records[0].a ==
        static_cast<std::uint64_t>((1_us + kLinkByte.of(24_B) + 150_ns).ps()));
  CHECK(bench.landings.records[0].b == 4096);
}

TEST_CASE("A completion entry is never visible before the payload that was sent before it") {
  Bench bench;
  struct Poller {
    Bench& bench;
    std::vector<std::uint8_t> payload;
    Time seen;
    void see() {
      seen = bench.scheduler.now();
      bench.memory.load(PhysicalAddress(0x4000), payload.data(), payload.size());
    }
  };
  Poller poller{bench, std::vector<std::uint8_t>(4096), {}};
  bench.memory.watch(PhysicalAddress(0x9000), call<&Poller::see>(&poller));
  const auto data = pattern(4096);
  bench.device.start_at(1_us, bench.device.write(0x4000, data));
  bench.device.start_at(1_us, bench.device.request(true, 0x9000, pattern(64), DmaEngineId::kPosted,
                                                   DmaPurpose::kCompletionQueue));
  bench.run();
  CHECK(poller.payload == data);
  CHECK(poller.seen > bench.landings.records.at(0).time);
}

TEST_CASE("An atomic's read sees the writes sent before it, however many wait") {
  Bench bench;
  for (std::uint64_t i = 0; i < 4; ++i)
    bench.device.start_at(1_us, bench.device.write(0x10000 + i * 4096, pattern(4096)));
  auto& written = bench.device.write(0x20000, {1, 2, 3, 4, 5, 6, 7, 8});
  auto& read = bench.device.request(false, 0x20000, std::vector<std::uint8_t>(8, 0xee),
                                    DmaEngineId::kPosted, DmaPurpose::kAtomic);
  bench.device.start_at(1_us, written);
  bench.device.start_at(1_us, read);
  bench.run();
  CHECK(read.data == written.data);
  CHECK(read.done > written.done);
}

TEST_CASE("A memory slower than the link slows writes through their credits") {
  MemoryConfig memory;
  memory.bandwidth = BitRate::gbps(16);
  Bench bench({}, memory);
  constexpr unsigned kCount = 200;
  for (unsigned i = 0; i < kCount; ++i)
    bench.device.start_at(1_us,
                          bench.device.request(true, i * 4096, std::vector<std::uint8_t>(4096),
                                               DmaEngineId::kPosted, DmaPurpose::kPayload, true));
  bench.run();
  const Time handed = bench.device.finished.back()->done;
  const Time landed = bench.landings.records.back().time;
  CHECK(kCount * 4096.0 * 8 / (landed - 1_us).as_ns() == Approx(16).epsilon(0.02));
  // What was handed but has not landed fits the receiver's 16 KiB and what the link holds.
  CHECK((landed - handed).as_ns() < 32768 * 8 / 16.0);
  CHECK(bench.metrics().at("pcie.upstream.stalled.posted_credits") > 0);
}
