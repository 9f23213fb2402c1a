// SPDX-License-Identifier: MIT
// The programs of perftest on two whole hosts.
#include "scenarios/engine/perftest_workload.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "model/json_document.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/simulation.h"
#include "scenarios/engine/system.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

Scenario perftest(const std::string& members, const std::string& more = "") {
  PresetDirectories presets({"scenarios/presets"});
  return read_scenario(parse_json(R"({"hosts": [{"name": "A"}, {"name": "B"}],
                     "workload": [{"name": "w0", "from": "A", "to": "B", "pattern": "perftest", )" +
                                      members + "}]" + more + "}",
                                  "x.json"),
                       {}, presets);
}

struct Run {
  explicit Run(const std::string& members, const std::string& more = "")
      : result(simulate(perftest(members, more))) {}
  double value(const std::string& path) const {
    REQUIRE(result.metrics.count(path) == 1);
    return result.metrics.at(path).as_real();
  }
  RunResult result;
};

/// When so much payload has come to B, one byte of its area to receive into changes.
class Spoiler {
 public:
  Spoiler(System& system, Bytes payload)
      : scheduler_(system.scheduler()), host_(*system.server("B").host), payload_(payload) {
    look();
  }

 private:
  /// The area is the second page of the first region.
  void look() {
    if (host_.memory().written(DmaPurpose::kPayload) != payload_) {
      scheduler_.at(scheduler_.now() + 1_us, call<&Spoiler::look>(this));
      return;
    }
    std::uint8_t key[abi::KeyEntry::kBytes];
    host_.memory().load(PhysicalAddress(host_.driver(0).tables().key_entries.value() + sizeof key),
                        key, sizeof key);
    std::uint8_t page[abi::kTableEntryBytes];
    host_.memory().load(PhysicalAddress(abi::KeyEntry::read(key).table.value() + sizeof page), page,
                        sizeof page);
    const PhysicalAddress frame = abi::TableEntry::read(page).address;
    std::uint8_t byte = 0;
    host_.memory().load(frame, &byte, 1);
    byte ^= 1;
    host_.memory().store(frame, &byte, 1);
  }

  Scheduler& scheduler_;
  Host& host_;
  Bytes payload_;
};

}  // namespace

TEST_CASE("ib_write_bw sends every message of every size and leaves the server's CPU alone") {
  const Run run(R"("test": "ib_write_bw", "sizes": ["64 B", "8 KiB"], "iterations": 100)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.messages") == 200);
  CHECK(run.value("workload.w0.completed") == 200);
  CHECK(run.value("workload.w0.size_64.iterations") == 100);
  CHECK(run.value("host.A.nic0.requester.messages") == 200);
  CHECK(run.value("host.B.memory.written.payload") == 100 * (64 + 8192));
  CHECK(run.value("host.B.cpu.data.busy") == 0);
  // Every 100th message asks for a completion.
  CHECK(run.value("host.A.nic0.cqe_writer.cqes") == 2);
  CHECK(run.value("workload.w0.size_8192.bandwidth.average") > 50e9);
  CHECK(run.value("workload.w0.size_8192.bandwidth.peak") >=
        run.value("workload.w0.size_8192.bandwidth.average"));
}

TEST_CASE("ib_write_lat watches memory, not a completion queue, for the answer") {
  const Run run(R"("test": "ib_write_lat", "sizes": ["8 B", "4 KiB"], "iterations": 50)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("host.A.nic0.requester.messages") == 100);
  CHECK(run.value("host.B.nic0.requester.messages") == 100);
  CHECK(run.value("host.B.nic0.cqe_writer.cqes") == 100);  // of its own messages, none for arrivals
  CHECK(run.value("host.B.cpu.data.polling") > 0);
  const double small = run.value("workload.w0.size_8.latency.typical");
  CHECK(small > 500e3);
  CHECK(small < 3e6);
  CHECK(run.value("workload.w0.size_4096.latency.typical") > small);
  CHECK(run.value("workload.w0.size_8.latency.min") <= small);
  CHECK(run.value("workload.w0.size_8.latency.max") >= small);
}

TEST_CASE("more than 256 messages whose last byte is their number follow one another") {
  const Run run(R"("test": "ib_write_lat", "sizes": ["1 B"], "iterations": 600)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.completed") == 600);
}

TEST_CASE("without its bytes ib_write_lat takes the same time: carried") {
  const Run run(R"("test": "ib_write_lat", "sizes": ["2 B", "64 KiB"], "iterations": 20)");
  CHECK(run.value("workload.w0.size_2.latency.typical") == 1226429);
  CHECK(run.value("workload.w0.size_65536.latency.typical") == 12607429);
  CHECK(run.result.violations.empty());
}

TEST_CASE("without its bytes ib_write_lat takes the same time: elided") {
  const Run run(R"("test": "ib_write_lat", "sizes": ["2 B", "64 KiB"], "iterations": 20)",
                R"(, "engine": {"payload": "elided"})");
  CHECK(run.value("workload.w0.size_2.latency.typical") == 1226429);
  CHECK(run.value("workload.w0.size_65536.latency.typical") == 12607429);
  CHECK(run.result.violations.empty());
}

TEST_CASE("both directions of a bidirectional run add up") {
  const Run run(
      R"("test": "ib_write_bw", "sizes": "64 KiB", "iterations": 50, "bidirectional": true)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("host.B.nic0.requester.messages") == 50);
  CHECK(run.value("host.A.memory.written.payload") == 50 * 65536);
  CHECK(run.value("workload.w0.size_65536.bandwidth.average") > 100e9);
}

TEST_CASE("every queue pair has its iterations and its own memory") {
  const Run run(R"("test": "ib_write_bw", "sizes": "4 KiB", "iterations": 30, "queue_pairs": 3)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.size_4096.iterations") == 90);
  CHECK(run.value("host.B.memory.written.payload") == 90 * 4096);
}

TEST_CASE("a byte that is wrong in memory before the check is found") {
  std::unique_ptr<Spoiler> spoiler;
  SimulationHooks hooks;
  hooks.built = [&](System& system) {
    spoiler = std::make_unique<Spoiler>(system, Bytes(20 * 4096));
  };
  const RunResult result =
      simulate(perftest(R"("test": "ib_write_bw", "sizes": "4 KiB", "iterations": 20)"), hooks);
  REQUIRE(result.violations.size() == 1);
  CHECK(result.violations[0].kind == "data_mismatch");
  CHECK(
      result.violations[0].text ==
      "1 bytes differ: messages of 4 KiB on host B, the first byte that differs at offset 4096 of "
      "its region");
}

TEST_CASE("a program whose message fails stops and says why") {
  const Run run(R"("test": "ib_write_bw", "sizes": "4 KiB", "iterations": 20, "ack_timeout": 2,
                   "retry_count": 1)",
                R"(, "fabric": {"link": {"faults": [{"kind": "drop"}]}})");
  REQUIRE(run.result.violations.size() == 1);
  CHECK(run.result.violations[0].kind == "deadlock");
  CHECK(
      run.result.violations[0].text ==
      "nothing is pending any more, but workload w0 on host A: a message of 4 KiB failed with "
      "transport retry counter exceeded; workload w0 on host B: posting and polling, 0 of 1 sizes "
      "done");
}

TEST_CASE("lost packets are sent again, and what arrives is right") {
  const Run run(R"("test": "ib_write_lat", "sizes": ["64 B", "16 KiB"], "iterations": 40,
                   "ack_timeout": 4)",
                R"(, "fabric": {"link": {"faults": [{"kind": "drop", "every": 13}]}})");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.completed") == 80);
  CHECK(run.value("workload.w0.size_64.latency.max") > 30e6);  // 65.5 us of waiting, halved
}
