// SPDX-License-Identifier: MIT
// In which order jobs of a DMA engine leave: those that wait, are refused, void, or kept by their
// client.
#include <catch2/catch.hpp>
#include <string>

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
constexpr std::uint64_t kPages = Bench::kPages;

}  // namespace

TEST_CASE("a job whose translation is missing holds up those behind it, but not their look-ups") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(8, {{40 * 4096, 8}}));          // cold
  bench.add_at(start + 10_ns, bench.job(8, {{0, 8}}));          // warm
  bench.add_at(start + 20_ns, bench.job(8, {{56 * 4096, 8}}));  // cold, another line
  bench.run();
  const auto tables = bench.memory.of(DmaPurpose::kTranslationTable);
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].begin == start);
  CHECK(tables[1].begin == start + 20_ns);
  const Time first = bench.clock.after(start + kRead, kCheck);
  const Time third = bench.clock.after(start + 20_ns + kRead, kCheck);
  CHECK(bench.begins() == std::vector<Time>{first, first, third});
  CHECK(bench.left_at == std::vector<Time>{first + kWrite, first + kWrite, third + kWrite});
  CHECK(bench.log.find("leave 0; ") < bench.log.find("leave 1; "));
}

TEST_CASE("a job that is void before its turn moves nothing and leaves") {
  Scatter bench;
  const Time start = bench.warm();
  std::uint32_t epoch = 5;
  DmaEngine::Job job = bench.job(8, {{0, 8}});
  job.epoch = Epoch(epoch);
  bench.add_at(start, std::move(job));
  bench.at(start + 10_ns, [&epoch] { ++epoch; });
  bench.run();
  CHECK(bench.begins().empty());
  CHECK(bench.log == "leave 0; ");
}

TEST_CASE("a job that becomes void between two parts moves no more, and waits for what it began") {
  Gather bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  std::uint32_t epoch = 5;
  DmaEngine::Job job = bench.job(20, {{0, 10}, {100, 10}});
  job.epoch = Epoch(epoch);
  bench.add_at(start, std::move(job));
  const Time first = bench.clock.after(start, kCheck);
  bench.at(first + 1_ns, [&epoch] { ++epoch; });
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{first});
  CHECK(bench.left_at == std::vector<Time>{first + kRead});
  CHECK(bench.log == "part 0+10; leave 0; ");
}

TEST_CASE("a job whose key is refused moves nothing and leaves in its turn") {
  Scatter bench;
  const Time start = bench.warm();
  bench.add_at(start, bench.job(8, {{40 * 4096, 8}}));  // cold
  bench.add_at(start + 1_ns, bench.job(8, {{0, 8, MemoryKey(9, 1)}}));
  bench.add_at(start + 2_ns, bench.job(8, {{kPages * 4096 - 4, 8}}));
  bench.run();
  CHECK(bench.begins().size() == 1);
  const std::string log = bench.log;
  CHECK(log ==
        "part 0+8; key never issued 1; address range outside the region 2; done; leave 0; leave 1; "
        "leave 2; ");
}

TEST_CASE("a segment that is refused ends its job, whose first part stays moved") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(20, {{0, 10}, {0, 10, MemoryKey(3, 9)}}));
  bench.run();
  const Time first = bench.clock.after(start, kCheck);
  CHECK(bench.begins() == std::vector<Time>{first});
  CHECK(*bench.memory.at(Bench::physical(0)) == 200);
  CHECK(bench.left_at == std::vector<Time>{first + kWrite});
  CHECK(bench.log.find("leave 0; ") == bench.log.size() - 9);
  CHECK(bench.log.find("key never issued 0; ") != std::string::npos);
}

TEST_CASE("a client may keep a job from moving when its turn comes") {
  Scatter bench;
  const Time start = bench.warm();
  bench.forbidden = 0;
  bench.add_at(start, bench.job(8, {{0, 8}}));
  bench.add_at(start, bench.job(8, {{100, 8}}));
  bench.run();
  CHECK(bench.begins().size() == 1);
  CHECK(bench.memory.of(DmaPurpose::kPayload)[0].address == Bench::physical(100));
  CHECK(bench.log == "leave 0; part 0+8; done; leave 1; ");
}

TEST_CASE("a client may move a job itself; the job is through when it says so") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.taken_over = 0;
  bench.add_at(start, bench.job(8, {{0, 8}}));
  bench.add_at(start + 10_ns, bench.job(8, {{100, 8}}));
  bench.at(start + 2_us, [&bench] { bench.engine.finished(bench.jobs_before); });
  bench.run();
  CHECK(bench.begins() == std::vector<Time>{bench.clock.after(start + 10_ns, kCheck)});
  CHECK(bench.left_at == std::vector<Time>{start + 2_us, start + 2_us});
  CHECK(bench.log == "taken 0; part 0+8; done; done; leave 0; leave 1; ");
}

TEST_CASE("a job whose client says no stays, and those behind it, until they are drained") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.refuses_to_leave = true;
  bench.add_at(start, bench.job(8, {{0, 8}}));
  bench.add_at(start, bench.job(8, {{100, 8}}));
  const int before = bench.lefts;
  bench.run();
  CHECK(bench.engine.size() == 2);
  CHECK(bench.engine.is_through(bench.engine.first()));
  CHECK(bench.lefts == before);
  bench.refuses_to_leave = false;
  bench.engine.drain();
  CHECK(bench.engine.idle());
  CHECK(bench.lefts == before + 1);  // once for both
  CHECK(bench.log == "part 0+8; part 0+8; done; done; leave 0; leave 1; ");
}

TEST_CASE("a job that has failed moves nothing and leaves behind those before it") {
  Gather bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  bench.add_at(start, bench.job(8, {{0, 8}}));
  DmaEngine::Job failed;
  failed.failed = CompletionStatus::kLocalLengthError;
  bench.add_at(start, failed);
  bench.run();
  const Time through = bench.clock.after(start, kCheck) + kRead;
  CHECK(bench.left_at == std::vector<Time>{through, through});
  CHECK(bench.log == "part 0+8; done; leave 0; leave 1; ");
}

TEST_CASE("a job without bytes is through when it is ready, not before") {
  Scatter bench;
  const Time start = bench.warm();
  bench.left_at.clear();
  DmaEngine::Job job = bench.job(0, {});
  job.ready = start + 500_ns;
  bench.add_at(start, std::move(job));
  bench.run();
  CHECK(bench.left_at == std::vector<Time>{start + 500_ns});
  CHECK(bench.log == "leave 0; ");
}
