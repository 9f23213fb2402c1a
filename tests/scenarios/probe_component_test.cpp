// SPDX-License-Identifier: MIT
#include "scenarios/engine/system.h"

#include <catch2/catch.hpp>

#include "scenarios/engine/scenario_reader.h"
#include "tests/support/own_process.h"

using namespace rnicsim;

TEST_CASE("every host and each of its NICs has a probe component of its own") {
  const std::string text = test::in_own_process([] {
    PresetDirectories presets({});
    const JsonNode document = parse_json(R"({"hosts": [ { "name": "A" }, { "name": "B" } ],
      "workload": [ { "name": "w0", "from": "A", "to": "B" } ] })",
                                         "x.json");
    Scenario scenario = read_scenario(document, {}, presets);
    scenario.hosts[0].nics.push_back(scenario.hosts[0].nics[0]);
    scenario.fabric.topology.kind = TopologyKind::kStar;
    System system("system", scenario);
    std::string all;
    for (const ProbeComponent& component : system.components())
      all += component.path + (component.nic ? " " + std::to_string(*component.nic) : "") + "\n";
    for (const System::Server& server : system.servers())
      all += server.name + " " + std::to_string(server.component) + "\n";
    return all;
  });
  CHECK(text ==
        "host.A\nhost.A.nic0 0\nhost.A.nic1 1\nhost.B\nhost.B.nic0 2\nfabric.switch0\n"
        "A 0\nB 3\n");
}
