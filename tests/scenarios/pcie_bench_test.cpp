// SPDX-License-Identifier: MIT
// The pattern pcie_bench: what it refuses, and the measurements of a small device.
#include <catch2/catch.hpp>

#include "scenarios/engine/pcie_bench_workload.h"
#include "scenarios/engine/simulation.h"
#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

namespace {

std::string file(const std::string& bench, const std::string& others = {},
                 const std::string& exerciser = R"(, "exerciser": {"engine_latency": "50 ns"})") {
  return R"({"hosts": [{"name": "A")" + exerciser + R"(}], "fabric": {"topology": "star"},
    "workload": [{"name": "w", "pattern": "pcie_bench", "from": "A")" +
         others + R"(, "pcie_bench": )" + bench + "}]}";
}

}  // namespace

TEST_CASE("pcie_bench needs a host with an exerciser") {
  CHECK(failure(file("{}", "", "")) ==
        "x.json:2: workload.0.from: host \"A\" has no `exerciser`, which pcie_bench works with");
}

TEST_CASE("pcie_bench refuses what it cannot measure") {
  CHECK(failure(file(R"({"operations": "fetch"})"))
            .find("workload.0.pcie_bench.operations: must be read, write, read_write") !=
        std::string::npos);
  CHECK(failure(file(R"({"sizes": ["64 B", "64 B"]})"))
            .find("workload.0.pcie_bench.sizes.1: stands in the list twice") != std::string::npos);
  CHECK(failure(file(R"({"sizes": "2 KiB", "windows": "1 KiB"})"))
            .find("workload.0.pcie_bench.windows: 1 KiB do not hold a transfer of 2 KiB") !=
        std::string::npos);
  CHECK(failure(file("{}", R"(, "size": "64 B")"))
            .find("workload.0.size: does not belong to the pattern \"pcie_bench\"") !=
        std::string::npos);
}

TEST_CASE("the largest window counts, wherever it stands in the list") {
  std::string text = file(R"({"windows": ["1 GiB", "8 KiB"]})");
  text.insert(text.find(R"(, "exerciser")"), R"(, "memory": {"size": "1 GiB"})");
  CHECK(failure(text).find("must not exceed an eighth of the host's memory") != std::string::npos);
}

TEST_CASE("pcie_bench refuses settings that would change nothing") {
  CHECK(failure(file(R"({"engine": false, "operations": "write"})"))
            .find("engine: belongs to operations that measure latency") != std::string::npos);
  std::string below_switch = file("{}");
  below_switch.insert(below_switch.find(R"(, "exerciser")"), R"(, "pcie_switch": {})");
  CHECK(
      failure(below_switch).find("workload.0.from: the exerciser of host \"A\" has a root port") !=
      std::string::npos);
  std::string few_tags = file(R"({"sizes": "4 KiB"})");
  few_tags.insert(few_tags.find(R"(, "exerciser")"),
                  R"(, "pcie": {"tag_bits": 5, "max_read_request": "128 B"})");
  CHECK(failure(few_tags) == "no error");
}

TEST_CASE("Places are whole cache lines, in a frame each, over all of the window") {
  const std::vector<PhysicalAddress> frames{PhysicalAddress(4 << 20), PhysicalAddress(64 << 20)};
  PcieBenchPlaces places(frames, 100_B, 4_MiB, 8_B, false, 1);
  CHECK(places.next() == PhysicalAddress((4 << 20) + 8));
  CHECK(places.next() == PhysicalAddress((4 << 20) + 128 + 8));
  for (std::uint64_t i = 2; i < (2 << 20) / 128; ++i) places.next();
  CHECK(places.next() == PhysicalAddress((64 << 20) + 8));
  PcieBenchPlaces two(frames, 64_B, 128_B, 0_B, false, 1);
  two.next();
  CHECK(two.next() == PhysicalAddress((4 << 20) + 64));
  CHECK(two.next() == PhysicalAddress(4 << 20));
}

TEST_CASE("Each operation is measured with each size, one after the other") {
  const Scenario scenario = read(file(
      R"({"operations": ["latency_read", "write"], "sizes": ["64 B", "256 B"], "count": 10})"));
  const RunResult result = simulate(scenario, {});
  CHECK(result.violations.empty());
  const auto latency = [&](const char* size) {
    return result.metrics.at(std::string("workload.w.latency_read.size_") + size +
                             ".window_8192.latency.typical");
  };
  // The default host takes 520 ns; 64 Gb/s of staging are 8 ns for 64 B.
  CHECK(static_cast<double>(latency("64").value) / 1e3 == Approx(578).margin(1));
  CHECK(latency("256").value > latency("64").value);
  CHECK(result.metrics.at("workload.w.completed").value == 4);
  CHECK(result.metrics.at("host.A.memory.written.payload").value == 10 * (64 + 256));
}

TEST_CASE("A store takes root complex, link and its bytes until the device has it") {
  const RunResult result = simulate(
      read(file(R"({"operations": ["latency_store", "write"], "sizes": "8 B", "count": 10})")), {});
  CHECK(result.violations.empty());
  const Time link = ByteTime(pcie_tlp_rate(3, 8, 256_B)).of(32_B);
  for (const char* which : {"min", "max"})
    CHECK(result.metrics
              .at(std::string("workload.w.latency_store.size_8.window_8192.latency.") + which)
              .value == static_cast<std::uint64_t>((25_ns + link + 125_ns).ps()));
  CHECK(result.metrics.at("host.A.exerciser.pcie.mmio.writes").value == 10);
  CHECK(result.metrics.at("host.A.memory.written.payload").value == 80);
}

TEST_CASE("a store has at most a line") {
  CHECK(failure(file(R"({"operations": "latency_store", "sizes": "128 B"})"))
            .find("workload.0.pcie_bench.sizes: a store has at most 64 B") != std::string::npos);
}

TEST_CASE("two workloads of one exerciser at a time end the run") {
  std::string text = file(R"({"count": 1000})");
  text.insert(text.rfind(']'),
              R"(, {"name": "x", "pattern": "pcie_bench", "from": "A", "start": "100 ns"})");
  const RunResult result = simulate(read(text), {});
  REQUIRE(!result.violations.empty());
  CHECK(result.violations[0].kind == "overlap");
}

TEST_CASE("Settings of rings belong to operations of rings, and their fetches need tags") {
  CHECK(failure(file(R"({"rings": {}})"))
            .find("workload.0.pcie_bench.rings: belongs to the operations nic_tx") !=
        std::string::npos);
  CHECK(failure(file(R"({"operations": "nic_tx", "rings": {"transmit": {"entries": 64,
                      "tail_every": 40}}})"))
            .find("entries: must be at least twice the longest batch") != std::string::npos);
  CHECK(failure(file(R"({"operations": "nic_tx", "windows": "1 KiB"})"))
            .find("windows: 1 KiB do not hold a transfer") != std::string::npos);
  CHECK(failure(file(R"({"operations": "nic_rx", "rings": {"receive": {"fetch_every": 128}}})", "",
                     R"(, "exerciser": {"pcie": {"tags": 4}})"))
            .find("rings: a fetch of 128 descriptors needs 5 tags") != std::string::npos);
}

TEST_CASE("A packet of a simple NIC costs the link what its TLPs have") {
  const RunResult result =
      simulate(read(file(R"({"operations": "nic_tx", "sizes": "1020 B", "count": 10000, "rings": {
                  "transmit": {"entries": 64, "write_back_every": 0}}})",
                         "", R"(, "exerciser": {"pcie": {"tags": 256, "read_buffer": "1 MiB"}})")),
               {});
  CHECK(result.violations.empty());
  // Downstream: the tail, a descriptor, four completions with the packet, the load of the head.
  constexpr double kBytes = (4 + 24) + (16 + 20) + (1020 + 4 * 20) + 24;
  const double rate = pcie_tlp_rate(3, 8, 256_B).as_gbps() * 1e9;
  CHECK(result.metrics.at("workload.w.nic_tx.size_1020.window_8192.bandwidth").as_real() ==
        Approx(rate * 1020 / kBytes).epsilon(0.001));
  CHECK(result.metrics.at("host.A.exerciser.pcie.mmio.writes").value == 10000);
  CHECK(result.metrics.at("host.A.exerciser.pcie.mmio.reads").value == 10000);
}
