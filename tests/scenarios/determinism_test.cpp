// SPDX-License-Identifier: MIT
// The same scenario and seed give the same result, whatever is being observed, however time is
// drained, and whether payload bytes are carried or elided.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "model/json_document.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/simulation.h"
#include "tests/support/own_process.h"

using namespace rnicsim;

namespace {

constexpr const char* kScenario = R"({
  "title": "mixed sizes and misses",
  "hosts": [ { "name": "A" }, { "name": "B" } ],
  "fabric": { "topology": "back_to_back", "link_layer": "rocev2", "link": { "length": "7 m" } },
  "timeline": { "work_requests": 3 },
  "workload": [
    { "name": "w0", "pattern": "pairs", "operation": "write", "transport": "rc",
      "from": "A", "to": "B", "size": "12289 B", "count": 60, "queue_pairs": 3, "queue_depth": 4,
      "signal_every": 3, "region": "2 MiB", "remote_offset": "random", "local_offset": "random",
      "path_mtu": "1024 B" },
    { "name": "w1", "pattern": "pairs", "operation": "write", "transport": "rc",
      "from": "B", "to": "A", "size": "64 B", "inline": true, "count": 200, "path_mtu": "256 B" }
  ]
})";

/// Metrics and timeline as text. Runs in a process of its own.
std::string run(const std::vector<std::string>& sets, bool timeline, bool log) {
  return test::in_own_process([&] {
    PresetDirectories presets({});
    const Scenario scenario =
        read_scenario(parse_json(kScenario, "determinism.json"), {"", sets}, presets);
    SimulationHooks hooks;
    hooks.timeline = timeline;
    if (log) hooks.log = EventLogOptions();
    const RunResult result = simulate(scenario, hooks);
    std::string text;
    for (const auto& [path, metric] : result.metrics)
      // Landing times are the one metric that only an observer sees; frames exist where bytes were
      // stored, which is what eliding saves.
      if (path.find(".landing.") == std::string::npos &&
          path.find(".memory.frames") == std::string::npos)
        text += path + "=" + std::to_string(metric.as_real()) + "\n";
    for (const Violation& violation : result.violations) text += violation.text + "\n";
    if (timeline)
      for (const TimelineRecord& r : result.timeline)
        text +=
            r.part + " " + std::to_string(r.begin.ps()) + " " + std::to_string(r.end.ps()) + "\n";
    return text;
  });
}

}  // namespace

TEST_CASE("The same scenario twice gives the same result and no violation") {
  const std::string first = run({}, true, false);
  REQUIRE(first.find("workload.w0.completed=60.") != std::string::npos);
  REQUIRE(first.find("workload.w1.completed=200.") != std::string::npos);
  REQUIRE(first == run({}, true, false));
}

TEST_CASE("Another seed scatters memory differently and gives other times") {
  REQUIRE(run({}, true, false) != run({"seed=2"}, true, false));
}

TEST_CASE("Observers change nothing") {
  const std::string unobserved = run({}, false, false);
  REQUIRE(unobserved == run({}, false, true));
  const std::string observed = run({}, true, true);
  REQUIRE(observed.compare(0, unobserved.size(), unobserved) == 0);
}

TEST_CASE("Run-ahead off reaches every instant through the kernel, with the same result") {
  REQUIRE(run({}, true, false) == run({"engine.run_ahead=false"}, true, false));
}

TEST_CASE("Elided payload takes exactly the time of carried payload") {
  REQUIRE(run({}, true, false) == run({"engine.payload=elided"}, true, false));
}
