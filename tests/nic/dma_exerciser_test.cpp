// SPDX-License-Identifier: MIT
#include "nic/dma_exerciser.h"

#include <catch2/catch.hpp>

#include "tests/support/fake_dma_memory.h"

namespace {

using namespace rnicsim;
using namespace rnicsim::literals;
using Kind = DmaExerciser::Kind;

/// Reads take 400 ns, writes leave after 10 ns; the engine adds 50 ns and 1 ns for each 8 B.
struct Bench : sc_core::sc_module {
  static DmaExerciserConfig config() {
    DmaExerciserConfig config;
    config.pcie.tags = 4;
    config.read_interval = 20_ns;
    config.write_interval = 30_ns;
    config.engine_latency = 50_ns;
    config.staging_rate = BitRate::gbps(64);
    return config;
  }

  explicit Bench(const sc_core::sc_module_name& name = "bench") : sc_module(name) {
    device.dma().bind(memory.socket);
    bar.bind(backward);
    bar.bind(device.bar);
  }

  DmaExerciser::Outcome run(Kind kind, std::uint32_t bytes, std::uint64_t count,
                            bool engine = true) {
    job.kind = kind;
    job.bytes = bytes;
    job.count = count;
    job.engine = engine;
    job.next = [this] { return PhysicalAddress(4096 * nth++); };
    scheduler.at(1_us, call<&Bench::start>(this));
    scheduler.run_until(1_ms);
    CHECK(ended);
    CHECK(device.idle());
    return device.outcome();
  }
  std::vector<Time> begins() const {
    std::vector<Time> times;
    for (const auto& access : memory.log) times.push_back(access.begin - 1_us);
    return times;
  }

  struct Backward : tlm::tlm_bw_transport_if<> {
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase&,
                                       sc_core::sc_time&) override {
      return tlm::TLM_COMPLETED;
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  };

  Scheduler scheduler{"scheduler"};
  test::FakeDmaMemory memory{"memory", scheduler, 400_ns, 10_ns};
  DmaExerciser device{"device", scheduler, config(), 512_B};
  tlm::tlm_initiator_socket<64> bar{"bar"};
  Backward backward;
  DmaExerciser::Job job;
  std::uint64_t nth = 0;
  bool ended = false;

 private:
  void start() { device.run(job, call<&Bench::end>(this)); }
  void end() { ended = true; }
};

}  // namespace

TEST_CASE("Reads start an interval apart until the slots are taken, each until it is staged") {
  Bench bench;
  const DmaExerciser::Outcome outcome = bench.run(Kind::kRead, 64, 6);
  // A read holds its slot for 400 + 50 + 8 ns.
  CHECK(bench.begins() == std::vector<Time>{0_ns, 20_ns, 40_ns, 60_ns, 458_ns, 478_ns});
  CHECK(outcome.lasted == 478_ns + 458_ns);
  CHECK(outcome.latencies.empty());
}

TEST_CASE("A read takes a slot for each read request that it is made of") {
  Bench bench;
  const DmaExerciser::Outcome outcome = bench.run(Kind::kRead, 1024, 3);
  CHECK(bench.begins() == std::vector<Time>{0_ns, 20_ns, 578_ns});
  CHECK(outcome.lasted == 578_ns * 2);
}

TEST_CASE("Writes start an interval apart") {
  Bench bench;
  const DmaExerciser::Outcome outcome = bench.run(Kind::kWrite, 64, 3);
  CHECK(bench.begins() == std::vector<Time>{0_ns, 30_ns, 60_ns});
  CHECK(outcome.lasted == 70_ns);
}

TEST_CASE("Reads and writes together go in equal numbers") {
  Bench bench;
  bench.run(Kind::kReadWrite, 64, 3);
  std::vector<bool> writes;
  for (const auto& access : bench.memory.log) writes.push_back(access.write);
  CHECK(writes == std::vector<bool>{true, false, true, false, true, false});
  CHECK(bench.begins() == std::vector<Time>{0_ns, 0_ns, 30_ns, 30_ns, 60_ns, 60_ns});
}

TEST_CASE("A command's latency is that of the bus, one at a time") {
  Bench bench;
  const DmaExerciser::Outcome outcome = bench.run(Kind::kReadLatency, 64, 2, false);
  CHECK(outcome.latencies == std::vector<Time>{400_ns, 400_ns});
  CHECK(bench.begins() == std::vector<Time>{0_ns, 400_ns});
}

TEST_CASE("The DMA engine's latency has its own part on top of the bus") {
  Bench bench;
  CHECK(bench.run(Kind::kReadLatency, 64, 1).latencies == std::vector<Time>{458_ns});
}

TEST_CASE("A read behind a write is of the same place and follows when the write has gone") {
  Bench bench;
  const DmaExerciser::Outcome outcome = bench.run(Kind::kWriteReadLatency, 64, 1, false);
  REQUIRE(bench.memory.log.size() == 2);
  CHECK(bench.memory.log[0].address == bench.memory.log[1].address);
  CHECK(bench.begins() == std::vector<Time>{0_ns, 10_ns});
  CHECK(outcome.latencies == std::vector<Time>{410_ns});
}
