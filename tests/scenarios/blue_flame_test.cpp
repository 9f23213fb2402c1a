// SPDX-License-Identifier: MIT
// BlueFlame from a program's post_send over the PCIe link to the NIC and the far host's memory.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "model/json_document.h"
#include "scenarios/engine/runner.h"
#include "scenarios/engine/scenario_reader.h"

using namespace rnicsim;

namespace {

/// One message of so many bytes in its WQE, simulated in a process of its own.
struct Run {
  Run(const std::string& operation, unsigned bytes, bool blue_flame) {
    PresetDirectories presets({"scenarios/presets"});
    const std::string verbs = blue_flame ? R"("verbs": {"blue_flame": true}, )" : "";
    const std::string text = R"({"hosts": [{"name": "A", )" + verbs +
                             R"("pcie": {"accounting": "atc16"}}, {"name": "B"}],
      "fabric": {"link": {"mtu": "4200 B"}}, "workload": [{"name": "w0", "from": "A", "to": "B",
      "pattern": "pairs", "inline": true, "operation": ")" +
                             operation + R"(", "size": ")" + std::to_string(bytes) + R"( B"}]})";
    const Scenario scenario = read_scenario(parse_json(text, "x.json"), {}, presets);
    RunnerOptions options;
    options.simulate = [](const Scenario& one, const SimulationHooks& hooks) {
      return simulate(one, hooks);
    };
    const RunResult result = run_simulations({{"one", &scenario}}, options).front();
    CHECK(result.violations.empty());
    const auto value = [&](const std::string& path) { return result.metrics.at(path).value; };
    CHECK(value("workload.w0.completed") == 1);
    CHECK(value("workload.w0.mismatched_bytes") == 0);
    CHECK(value("host.A.nic0.pcie_endpoint.read.payload") == 0);
    stores = value("host.A.nic0.pcie.mmio.writes");
    link_bytes = value("host.A.nic0.pcie.downstream.bytes");
    fetched = value("host.A.nic0.pcie.read.send_queue");
    without_fetch = value("host.A.nic0.doorbell.blue_flame");
  }
  std::uint64_t stores = 0;
  std::uint64_t link_bytes = 0;
  std::uint64_t fetched = 0;
  std::uint64_t without_fetch = 0;
};

}  // namespace

TEST_CASE("A WQE of 128 B is two lines of 90 B on the link, one of 129 B three, and none fetched") {
  // In front of the data stand 20 B in a SEND, 36 B in a WRITE.
  for (const auto& [operation, fits] : {std::pair{"send", 108U}, std::pair{"write", 92U}}) {
    const Run two(operation, fits, true);
    const Run three(operation, fits + 1, true);
    CHECK(two.without_fetch == 1);
    CHECK(three.without_fetch == 1);
    CHECK(two.fetched == 0);
    CHECK(three.fetched == 0);
    CHECK(three.stores == two.stores + 1);
    CHECK(three.link_bytes == two.link_bytes + 90);
    const Run rung(operation, fits, false);
    CHECK(rung.without_fetch == 0);
    CHECK(rung.fetched == 128);
    CHECK(rung.stores == two.stores - 1);
    // A doorbell of 8 B and one completion of 128 B, with their headers.
    CHECK(rung.link_bytes == two.link_bytes - 2 * 90 + 34 + 150);
  }
}

TEST_CASE("A WQE of 257 B is too long for BlueFlame: it is rung for and fetched") {
  const Run longest("send", 236, true);
  CHECK(longest.fetched == 0);
  const Run longer("send", 237, true);
  CHECK(longer.without_fetch == 0);
  CHECK(longer.fetched == 320);
  CHECK(longer.stores == longest.stores - 3);
}
