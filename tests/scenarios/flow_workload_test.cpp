// SPDX-License-Identifier: MIT
// Flows among whole hosts over a switch.
#include "scenarios/engine/flows/flow_workload.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "model/config_error.h"
#include "model/json_document.h"
#include "scenarios/engine/flows/flow_checks.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/simulation.h"
#include "tests/support/own_process.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

Scenario scenario(const std::string& members, int hosts = 4, const std::string& link = "{}") {
  PresetDirectories presets({"scenarios/presets"});
  return read_scenario(parse_json(R"({"hosts": [{"name": "h", "count": )" + std::to_string(hosts) +
                                      R"(, "preset": "xeon_2015", "nic": {"preset": "rnic_100g"}}],
                         "fabric": {"topology": "star", "link": )" +
                                      link + R"(}, "workload": [{"name": "w0", )" + members + "}]}",
                                  "x.json"),
                       {}, presets);
}

std::string error_of(const std::string& members) {
  try {
    scenario(members);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

struct Run {
  explicit Run(const Scenario& scenario) {
    SimulationHooks hooks;
    hooks.pauses = true;
    result = simulate(scenario, hooks);
  }
  double value(const std::string& path) const {
    INFO(path);
    REQUIRE(result.metrics.count(path) == 1);
    return result.metrics.at(path).as_real();
  }
  double sum(const std::string& leaf) const {
    double sum = 0;
    for (const auto& [path, metric] : result.metrics)
      if (path.size() > leaf.size() &&
          path.compare(path.size() - leaf.size(), leaf.size(), leaf) == 0)
        sum += metric.as_real();
    return sum;
  }
  RunResult result;
};

}  // namespace

TEST_CASE("an incast shares the receiver's link fairly, pauses the senders and loses nothing") {
  const Run run(scenario(R"("pattern": "incast", "to": "h0", "size": "4 MiB")", 5));
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.flows.count") == 4);
  CHECK(run.value("workload.w0.flows.finished") == 4);
  CHECK(run.value("workload.w0.flows.mismatched_bytes") == 0);
  CHECK(run.value("workload.w0.flows.goodput") > 95e9);
  CHECK(run.value("workload.w0.flows.fairness") > 0.99);
  CHECK(run.sum("rx_prio3_pause_transition") > 0);
  REQUIRE(run.result.flows.size() == 4);
  for (const FlowRecord& flow : run.result.flows) {
    CHECK(flow.to == "h0");
    CHECK(flow.start == run.result.flows[0].start);
    const double slowdown =
        static_cast<double>((flow.finish - flow.start).ps()) / static_cast<double>(flow.ideal.ps());
    CHECK(slowdown > 3);
    CHECK(slowdown < 4.5);
  }
}

TEST_CASE("pauses are recorded at the port that obeys: stopped, then going on, in turn") {
  const Run run(scenario(R"("pattern": "incast", "to": "h0", "size": "4 MiB")", 5));
  REQUIRE_FALSE(run.result.pauses.empty());
  std::map<std::uint32_t, bool> paused;
  Time before;
  for (const PauseRecord& record : run.result.pauses) {
    CHECK_FALSE(record.is_switch);
    CHECK(record.node != 0);
    CHECK(record.priority == 3);
    CHECK(record.when >= before);
    CHECK(paused[record.node] != record.paused);
    paused[record.node] = record.paused;
    before = record.when;
  }
  for (const auto& [node, still] : paused) CHECK_FALSE(still);
}

TEST_CASE("a flow alone takes little more than the ideal time") {
  const Run run(scenario(R"("pattern": "incast", "from": "h1", "to": "h0", "size": "4 MiB")"));
  CHECK(run.value("workload.w0.flows.count") == 1);
  CHECK(run.value("workload.w0.flows.slowdown.max") > 1);
  CHECK(run.value("workload.w0.flows.slowdown.max") < 1.05);
}

namespace {

void check_delivers(const std::string& pattern, const std::string& completion, double flows) {
  const Run run(scenario(R"("pattern": ")" + pattern + R"(", "completion": ")" + completion +
                         R"(", "size": "100 KiB", "count": 3, "message_size": "10000 B",
                            "queue_depth": 4)"));
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.flows.finished") == flows);
  CHECK(run.value("workload.w0.flows.bytes") == flows * 102400);
  CHECK(run.value("workload.w0.flows.mismatched_bytes") == 0);
}

}  // namespace

TEST_CASE("a permutation delivers every byte to hosts that poll") {
  check_delivers("permutation", "polling", 12);
}

TEST_CASE("all to all delivers every byte to hosts that sleep") {
  check_delivers("all_to_all", "events", 36);
}

TEST_CASE("flows whose queue pair gives up are counted, and the run comes to its end") {
  const Run run(scenario(
      R"("pattern": "permutation", "size": "1 MiB", "count": 2, "ack_timeout": 4, "retry_count": 1)",
      3, R"({"faults": [{"kind": "down", "from": "130 us", "until": "900 ms"}]})"));
  CHECK(run.value("workload.w0.flows.count") == 6);
  CHECK(run.value("workload.w0.flows.failed") + run.value("workload.w0.flows.finished") == 6);
  CHECK(run.value("workload.w0.flows.failed") > 0);
}

TEST_CASE("a trigger is heard of at once at the same host, after the control latency at another") {
  const std::string file = std::filesystem::temp_directory_path() / "rnicsim_flow_test.cm";
  std::ofstream(file) << "Nodes 3\nConnections 3\nTriggers 1\n"
                         "0->1 start 2000000 size 5000 send_done_trigger 1\n"
                         "trigger id 1 oneshot\n"
                         "0->2 trigger 1 size 5000\n"
                         "1->2 trigger 1 size 5000\n";
  const Scenario from_file =
      scenario(R"("pattern": "flow_file", "control_latency": "3 us", "file": ")" + file + '"');
  const Run run(from_file);
  std::filesystem::remove(file);
  const auto& flows = run.result.flows;
  REQUIRE(flows.size() == 3);
  CHECK(run.value("workload.w0.flows.finished") == 3);
  CHECK(flows[1].start == flows[0].finish);
  CHECK(flows[2].start == flows[0].finish + 3_us);
}

TEST_CASE("in a closed loop a flow begins when the one before it has ended") {
  const Run run(scenario(R"("pattern": "incast", "from": "h1", "to": "h0", "count": 4,
                            "size": "10 KiB")"));
  REQUIRE(run.result.flows.size() == 4);
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(run.result.flows[i].start == run.result.flows[i - 1].finish);
}

TEST_CASE("flows of poisson begin at their times after all are connected") {
  const Scenario poisson =
      scenario(R"("pattern": "poisson", "load": 0.3, "count": 40, "cdf": "FbHadoop")");
  const Run run(poisson);
  CHECK(run.value("workload.w0.flows.finished") == 40);
  const FlowPlan plan = plan_flows(poisson.workload[0], poisson);
  const Time origin = run.result.flows[0].start - plan.flows[0].start;
  for (std::size_t i = 0; i < 40; ++i)
    CHECK(run.result.flows[i].start == origin + plan.flows[i].start);
}

TEST_CASE("the same seed gives the same flows, with and without run-ahead and bytes carried") {
  const auto run = [](std::uint64_t seed, bool ahead, PayloadMode payload) {
    return test::in_own_process([&] {
      Scenario poisson =
          scenario(R"("pattern": "poisson", "load": 0.5, "count": 30, "cdf": "FbHadoop")");
      poisson.seed = seed;
      poisson.engine.run_ahead = ahead;
      poisson.engine.payload = payload;
      std::string text;
      for (const FlowRecord& flow : Run(poisson).result.flows)
        text += flow.from + flow.to + ' ' + std::to_string(flow.bytes) + ' ' +
                std::to_string(flow.start.ps()) + ' ' + std::to_string(flow.finish.ps()) + '\n';
      return text;
    });
  };
  const std::string first = run(1, true, PayloadMode::kCarried);
  REQUIRE(first.size() > 30);
  CHECK(first == run(1, true, PayloadMode::kCarried));
  CHECK(first == run(1, false, PayloadMode::kCarried));
  CHECK(first == run(1, true, PayloadMode::kElided));
  CHECK(first != run(2, true, PayloadMode::kCarried));
}

TEST_CASE("keys of flows are checked like all others") {
  CHECK(error_of(R"("pattern": "incast")") ==
        "x.json:2: workload.0.to: missing; it must be given (the host that all others send to)");
  CHECK(error_of(R"("pattern": "incast", "to": "h*")") ==
        "x.json:2: workload.0.to: an incast has one receiver; this names 4");
  CHECK(error_of(R"("pattern": "incast", "to": "h9")") ==
        "x.json:2: workload.0.to: unknown host \"h9\", did you mean \"h0\"?");
  CHECK(error_of(R"("pattern": "permutation", "from": ["h0", "x*"])") ==
        "x.json:2: workload.0.from.1: unknown host \"x*\"");
  CHECK(error_of(R"("pattern": "permutation", "fence": true)") ==
        "x.json:2: workload.0.fence: belongs to the pattern \"pairs\"");
  CHECK(error_of(R"("pattern": "permutation", "load": 0.5)") ==
        "x.json:2: workload.0.load: belongs to the pattern \"poisson\"");
  CHECK(error_of(R"("pattern": "poisson")") ==
        "x.json:2: workload.0.load: missing; it must be given: the share of its link that a sender "
        "offers");
  CHECK(error_of(R"("pattern": "poisson", "load": 0.5, "cdf": "WebSaerch")") ==
        "x.json:2: workload.0.cdf: unknown distribution \"WebSaerch\"; known: WebSearch, "
        "AliStorage2019 or FbHadoop, or a file, did you mean \"WebSearch\"?");
  CHECK(error_of(R"("pattern": "flow_file")") ==
        "x.json:2: workload.0.file: missing; it must be given");
  CHECK(error_of(R"("pattern": "flow_file", "file": "no/such.txt")").find("cannot be read") !=
        std::string::npos);
  CHECK(error_of(R"("from": "h0", "to": "h1", "in_flight": 2)") ==
        "x.json:2: workload.0.in_flight: belongs to the patterns of flows, such as \"incast\"");
  CHECK(error_of(R"("from": ["h0"], "to": "h1")") ==
        "x.json:2: workload.0.from: one host, not a list of them");
}
