// SPDX-License-Identifier: MIT
// What a job moves, where to and when.
#include "nic/dma_engine.h"

#include <catch2/catch.hpp>

#include "tests/nic/dma_engine_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using Bench = test::DmaEngineBench;
using Gather = test::GatherBench;
using Scatter = test::ScatterBench;

namespace {

constexpr Time kRead = Bench::kRead;
constexpr Time kWrite = Bench::kWrite;
constexpr Cycles kCheck = Bench::kCheck;

}  // namespace

TEST_CASE("a job that scatters is written after its check and leaves when PCIe has taken it") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(100, {{50, 100}}));
  bench.run();
  const Time issue = bench.clock.after(start, kCheck);
  CHECK(bench.begins() == std::vector<Time>{issue});
  CHECK(bench.left_at == std::vector<Time>{issue + kWrite});
  CHECK(bench.done_since == issue);
  CHECK(bench.log == "part 0+100; done; leave 0; ");
  for (std::uint32_t i = 0; i < 100; ++i)
    CHECK(*bench.memory.at(Bench::physical(50 + i)) == static_cast<std::uint8_t>(200 - i));
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].engine == DmaEngineId::kPosted);
  CHECK(bench.engine.idle());
}

TEST_CASE("what is still arriving is written as late as PCIe must not overtake the wire") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job far = bench.job(1000, {{0, 400}, {1000, 600}});
  far.packet->tail = start + 1_us;
  bench.add_at(start, std::move(far));
  DmaEngine::Job near = bench.job(100, {{0, 100}});
  near.packet->tail = start + 1_us + 8_ns;  // 100 B take 12.5 ns
  bench.add_at(start, std::move(near));
  bench.run();
  const Time first = start + 1_us - 125_ns;
  const Time second = start + 1_us - 75_ns;
  CHECK(bench.begins() == std::vector<Time>{first, second, start + 1_us + 8_ns - 12500_ps});
  CHECK(bench.left_at[0] == second + kWrite);
}

TEST_CASE("PCIe slower than the wire is given a packet as soon as it is translated") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(4000, {{0, 4000}});
  job.packet->tail = start + 200_ns;  // of PCIe 500 ns
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{bench.clock.after(start, kCheck)});
}

TEST_CASE("a job that moves nothing is not through before its packet has come") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job job = bench.job(0, {});
  job.packet->tail = start + 300_ns;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.left_at == std::vector<Time>{start + 300_ns});
}

TEST_CASE("a job that gathers leaves when its bytes have come") {
  Gather bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job job = bench.job(100, {{50, 100}});
  const PacketRef packet = job.packet;
  bench.add_at(start, std::move(job));
  bench.run();
  const Time issue = bench.clock.after(start, kCheck);
  CHECK(bench.begins() == std::vector<Time>{issue});
  CHECK(bench.left_at == std::vector<Time>{issue + kRead});
  for (std::uint32_t i = 0; i < 100; ++i) CHECK(packet->payload()[i] == Bench::byte_at(50 + i));
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].engine == DmaEngineId::kPayloadRead);
}

TEST_CASE("a job of several segments moves them one after the other, each after its own check") {
  Gather bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(60, {{5000, 10}, {9000, 0}, {100, 20}, {300, 100}});
  const PacketRef packet = job.packet;
  bench.add_at(start, std::move(job));
  bench.run();
  const Time first = bench.clock.after(start, kCheck);
  const Time second = bench.clock.after(first, kCheck);
  const Time third = bench.clock.after(second, kCheck);
  CHECK(bench.begins() == std::vector<Time>{first, second, third});
  CHECK(bench.left_at.back() == third + kRead);
  CHECK(bench.log == "part 0+10; part 10+20; part 30+30; done; leave 0; ");
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::uint64_t from = i < 10 ? 5000 + i : i < 30 ? 90 + i : 270 + i;
    CHECK(packet->payload()[i] == Bench::byte_at(from));
  }
}

TEST_CASE("a job in the middle of its message begins inside a segment") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(20, {{0, 100}, {1000, 100}});
  job.offset = 95;
  bench.add_at(start, std::move(job));
  bench.run();
  const auto writes = bench.memory.of(DmaPurpose::kPayload);
  REQUIRE(writes.size() == 2);
  CHECK(writes[0].address == Bench::physical(95));
  CHECK(writes[0].bytes == 5);
  CHECK(writes[1].address == Bench::physical(1000));
  CHECK(writes[1].bytes == 15);
}

TEST_CASE("a part on two pages is two requests at once") {
  Scatter bench;
  const Time start = bench.warm();
  bench.add_at(start, bench.job(200, {{4096 - 50, 200}}));
  bench.run();
  const auto writes = bench.memory.of(DmaPurpose::kPayload);
  REQUIRE(writes.size() == 2);
  CHECK(writes[0].begin == writes[1].begin);
  CHECK(writes[0].address == Bench::physical(4096 - 50));
  CHECK(writes[0].bytes == 50);
  CHECK(writes[1].address == Bench::physical(4096));
  CHECK(writes[1].bytes == 150);
  CHECK(bench.log == "part 0+200; done; leave 0; ");
}

TEST_CASE(
    "a prefix and the payload behind it are looked up once, and written one after the other") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(10, {{0, 100}});
  job.prefix = 40;
  job.bytes = 50;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.log == "part 0+50; done; leave 0; ");
  const std::vector<Time> begins = bench.begins();
  REQUIRE(begins.size() == 2);
  CHECK(begins[0] == begins[1]);
  for (std::uint32_t i = 0; i < 40; ++i) CHECK(*bench.memory.at(Bench::physical(i)) == i + 1);
  for (std::uint32_t i = 0; i < 10; ++i)
    CHECK(*bench.memory.at(Bench::physical(40 + i)) == static_cast<std::uint8_t>(200 - i));
}

TEST_CASE("a prefix may lie across two segments") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(10, {{0, 30}, {1000, 100}});
  job.prefix = 40;
  job.bytes = 50;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.log == "part 0+30; part 30+20; done; leave 0; ");
  CHECK(*bench.memory.at(Bench::physical(29)) == 30);
  CHECK(*bench.memory.at(Bench::physical(1000)) == 31);
  CHECK(*bench.memory.at(Bench::physical(1010)) == 200);
}

TEST_CASE("a job that was checked before is moved when it is ready, without another look-up") {
  Scatter bench;
  const Time start = bench.warm();
  DmaEngine::Job job = bench.job(8, {});
  job.check_set = true;
  job.check.state = KeyCheck::State::kPass;
  job.check.not_before = start + 40_ns;
  job.check.pieces[0] = {PhysicalAddress(Bench::physical(100)), 8};
  job.check.piece_count = 1;
  job.check.length = 8;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{start + 40_ns});
}

TEST_CASE("elided payload is accounted at the same times and moves no byte") {
  Scatter bench(true);
  const Time start = bench.warm();
  const std::uint8_t before = *bench.memory.at(Bench::physical(50));
  bench.add_at(start, bench.job(100, {{50, 100}}));
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{bench.clock.after(start, kCheck)});
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].elided);
  CHECK(*bench.memory.at(Bench::physical(50)) == before);
}
