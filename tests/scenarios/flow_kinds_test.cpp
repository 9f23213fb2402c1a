// SPDX-License-Identifier: MIT
// Flows by READ and SEND, of hosts with several NICs, in closed loops, one behind another, in the
// priority that they choose; and what unfinished ones wait for.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "model/config_error.h"
#include "model/json_document.h"
#include "scenarios/engine/scenario_reader.h"
#include "scenarios/engine/simulation.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

const char* const kOneNic = R"([{"name": "h", "count": 4, "preset": "xeon_2015",
                                 "nic": {"preset": "rnic_100g"}}])";
const char* const kTwoNics = R"([{"name": "A", "preset": "xeon_2015",
                                  "nics": [{"preset": "rnic_100g"}, {"preset": "rnic_100g"}]},
                                 {"name": "B", "preset": "xeon_2015",
                                  "nics": [{"preset": "rnic_100g"}, {"preset": "rnic_100g"}]}])";

Scenario scenario(const std::string& workload, const std::string& hosts = kOneNic,
                  const std::string& fabric = R"("topology": "star")",
                  const std::string& more = "") {
  PresetDirectories presets({"scenarios/presets"});
  return read_scenario(
      parse_json(R"({"hosts": )" + hosts + R"(, "fabric": {)" + fabric +
                     R"(}, "workload": [{"name": "w0", )" + workload + "}]" + more + "}",
                 "x.json"),
      {}, presets);
}

std::string error_of(const std::string& workload, const std::string& hosts = kOneNic) {
  try {
    scenario(workload, hosts);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

struct Run {
  explicit Run(const Scenario& scenario) : result(simulate(scenario)) {}
  std::uint64_t value(const std::string& path) const {
    INFO(path);
    REQUIRE(result.metrics.count(path) == 1);
    return result.metrics.at(path).value;
  }
  std::string violation(const std::string& kind) const {
    for (const Violation& each : result.violations)
      if (each.kind == kind) return each.text;
    return "none of " + kind;
  }
  RunResult result;
};

void check_delivers(const Run& run, std::uint64_t flows, std::uint64_t bytes) {
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.flows.finished") == flows);
  CHECK(run.value("workload.w0.flows.bytes") == flows * bytes);
  CHECK(run.value("workload.w0.flows.mismatched_bytes") == 0);
}

}  // namespace

TEST_CASE("flows by READ bring every byte from the other end") {
  const Run run(scenario(R"("pattern": "all_to_all", "operation": "read", "size": "100 KiB",
                            "count": 2, "message_size": "10000 B", "queue_depth": 4)"));
  check_delivers(run, 24, 102400);
  CHECK(run.value("host.h0.nic0.read_responder.payload_bytes") == 6 * 102400);
}

TEST_CASE("a READ flow alone takes little more than its ideal time") {
  const Run run(scenario(
      R"("pattern": "incast", "from": "h1", "to": "h0", "operation": "read", "size": "4 MiB")"));
  check_delivers(run, 1, 4194304);
  const FlowRecord& flow = run.result.flows[0];
  CHECK(flow.from == "h1");
  CHECK(flow.finish - flow.start > flow.ideal);
  CHECK((flow.finish - flow.start).ps() < flow.ideal.ps() * 21 / 20);
}

TEST_CASE("flows by SEND are received, also by hosts that sleep and post few receives") {
  const Run run(scenario(R"("pattern": "all_to_all", "operation": "send", "size": "100 KiB",
                            "count": 2, "message_size": "10000 B", "queue_depth": 4,
                            "receive_depth": 2, "min_rnr_timer": 1, "completion": "events")"));
  check_delivers(run, 24, 102400);
}

TEST_CASE("a SEND flow whose receiver is cut off fails, and nobody waits for it") {
  const Run run(scenario(
      R"("pattern": "incast", "from": ["h1", "h2"], "to": "h0", "operation": "send",
         "size": "2 MiB", "ack_timeout": 3, "retry_count": 2)",
      kOneNic, R"("topology": "star", "failures": [{"link": "h1-switch0", "at": "200 us"}])"));
  CHECK(run.value("workload.w0.flows.finished") == 1);
  CHECK(run.value("workload.w0.flows.failed") == 1);
  CHECK(run.result.violations.empty());
}

TEST_CASE("flows name a NIC of a host with several") {
  const Run run(scenario(
      R"("pattern": "incast", "from": "A.nic*", "to": "B.nic1", "size": "64 KiB")", kTwoNics));
  check_delivers(run, 2, 65536);
  CHECK(run.result.flows[0].from == "A.nic0");
  CHECK(run.result.flows[1].from == "A.nic1");
  CHECK(run.result.flows[1].to == "B.nic1");
  CHECK(run.value("host.A.nic1.port.tx_payload_bytes") == 65536);
  CHECK(run.value("host.B.nic0.port.rx_packets") == 0);
}

namespace {

const char* const kFourFlows =
    R"("pattern": "permutation", "from": "A", "to": "B", "count": 4, "size": "64 KiB")";

std::map<std::string, int> ways_of(const Run& run) {
  std::map<std::string, int> count;
  for (const FlowRecord& flow : run.result.flows) ++count[flow.from + '-' + flow.to];
  return count;
}

}  // namespace

TEST_CASE("a host's name stands for its first NIC") {
  const Run run(scenario(kFourFlows, kTwoNics));
  check_delivers(run, 4, 65536);
  CHECK(ways_of(run) == std::map<std::string, int>{{"A.nic0-B.nic0", 4}});
}

TEST_CASE("a host's flows may take its NICs in turn") {
  const Run run(scenario(std::string(kFourFlows) + R"(, "nic_choice": "round_robin")", kTwoNics));
  check_delivers(run, 4, 65536);
  CHECK(ways_of(run) == std::map<std::string, int>{{"A.nic0-B.nic0", 2}, {"A.nic1-B.nic1", 2}});
}

TEST_CASE("in a closed loop a host begins a flow when one has ended and it has thought") {
  const Run run(scenario(R"("pattern": "closed_loop", "from": "h1", "count": 20,
                            "size": "10 KiB", "think_time": "7 us")"));
  check_delivers(run, 20, 10240);
  std::set<std::string> receivers;
  for (std::size_t i = 0; i < 20; ++i) {
    receivers.insert(run.result.flows[i].to);
    if (i > 0) CHECK(run.result.flows[i].start == run.result.flows[i - 1].finish + 7_us);
  }
  CHECK(receivers == std::set<std::string>{"h0", "h2", "h3"});
}

TEST_CASE("a flow behind others begins when the last of them has ended") {
  const Run run(scenario(
      R"("pattern": "flow_list", "control_latency": "3 us", "flows": [
           {"name": "long", "from": "h0", "to": "h1", "size": "1 MiB"},
           {"name": "short", "from": "h2", "to": "h3", "size": "1 KiB", "start": "5 us"},
           {"from": "h0", "to": "h2", "size": "1 KiB", "after": ["short", "long"]},
           {"from": "h3", "to": "h0", "size": "1 KiB", "after": ["short"], "start": "2 us"}])"));
  CHECK(run.result.violations.empty());
  const auto& flows = run.result.flows;
  REQUIRE(flows.size() == 4);
  CHECK(flows[1].start == flows[0].start + 5_us);
  CHECK(flows[2].start == flows[0].finish);
  CHECK(flows[3].start == flows[1].finish + 3_us + 2_us);
}

TEST_CASE("a workload and a flow choose their priority") {
  const Run run(scenario(R"("pattern": "flow_list", "dscp": 8, "flows": [
           {"from": "h0", "to": "h1", "size": "40 KiB"},
           {"from": "h0", "to": "h1", "size": "40 KiB", "priority": 5}])"));
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.flows.queue_pairs") == 2);
  CHECK(run.value("fabric.switch0.port0.prio1.occupancy.max") > 0);
  CHECK(run.value("fabric.switch0.port0.prio5.occupancy.max") > 0);
}

TEST_CASE("a flow that a dead link holds up says so, and one behind it which it waits for") {
  const Run run(scenario(
      R"("pattern": "flow_list", "ack_timeout": 0, "flows": [
           {"name": "cut", "from": "h0", "to": "h1", "size": "64 MiB"},
           {"from": "h0", "to": "h2", "size": "1 KiB", "after": ["cut"]}])",
      kOneNic, R"("topology": "star", "failures": [{"link": "h1-switch0", "at": "200 us"}])"));
  const std::string text = run.violation("deadlock");
  CHECK(text.find("flow 0 of w0, 64 MiB from h0 to h1: ") != std::string::npos);
  CHECK(text.find("; link h1-switch0 is down; ") != std::string::npos);
  CHECK(text.find("flow 1 of w0, 1 KiB from h0 to h2: waiting for flow 0") != std::string::npos);
}

TEST_CASE("a flow that a pause holds up says where and since when") {
  const Run run(scenario(
      R"("pattern": "flow_list", "flows": [{"from": "h0", "to": "h2", "size": "200 MiB"},
           {"from": "h1", "to": "h0", "size": "200 MiB"},
           {"from": "h2", "to": "h1", "size": "200 MiB"}])",
      R"([{"name": "h", "count": 3, "preset": "xeon_2015", "nic": {"preset": "rnic_100g"}}])",
      R"("topology": "ring", "ring": {"routes": "clockwise"},
         "switch": {"buffer": {"size": "2 MiB"}})",
      R"(, "stop_at": "5 ms", "engine": {"payload": "elided"})"));
  const std::string text = run.violation("unfinished_flow");
  CAPTURE(text);
  CHECK(text.find("128 MiB posted, waiting for completions, 0 of 128 messages on its queue pair "
                  "completed, its send queue is full; the port of h0 is paused in priority 3 "
                  "since ") != std::string::npos);
}

TEST_CASE("keys of each kind of flows are checked") {
  CHECK(error_of(R"("pattern": "incast", "to": "h0", "operation": "fetch_add")") ==
        "x.json:2: workload.0.operation: flows are of \"write\", \"read\" or \"send\"");
  CHECK(error_of(R"("pattern": "incast", "to": "h0", "receive_depth": 4)") ==
        "x.json:2: workload.0.receive_depth: \"write\" takes no receives");
  CHECK(error_of(R"("pattern": "poisson", "load": 0.5, "think_time": "1 us")") ==
        "x.json:2: workload.0.think_time: flows of poisson do not wait for one another");
  CHECK(error_of(R"("pattern": "incast", "to": "h0", "flows": [{"from": "h1", "to": "h0"}])") ==
        "x.json:2: workload.0.flows: belongs to the pattern \"flow_list\"");
  CHECK(error_of(R"("pattern": "flow_list")") ==
        "x.json:2: workload.0.flows: an empty list; it must have flows");
  CHECK(error_of(R"("pattern": "flow_list", "count": 3, "flows": [{"from": "h1", "to": "h0"}])") ==
        "x.json:2: workload.0.count: each of `flows` says it");
  CHECK(error_of(R"("pattern": "flow_list", "flows": [{"from": "h1", "to": "x"}])")
            .find("workload.0.flows.0.to: unknown host \"x\"") != std::string::npos);
  CHECK(error_of(R"("pattern": "incast", "from": "A.nic1", "to": "B",
                    "nic_choice": "round_robin")",
                 kTwoNics)
            .find("workload.0.from: names a NIC, and \"nic_choice\" is \"round_robin\"") !=
        std::string::npos);
  CHECK(error_of(R"("from": "h0", "to": "h1", "think_time": "1 us")") ==
        "x.json:2: workload.0.think_time: belongs to the patterns of flows, such as \"incast\"");
}

TEST_CASE("a failure must name a link, and end behind its begin") {
  const auto failure = [](const std::string& members) {
    try {
      scenario(R"("pattern": "incast", "to": "h0")", kOneNic,
               R"("topology": "star", "failures": [{)" + members + "}]");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(failure(R"("link": "h1-switch0", "at": "1 us")") == "no error");
  CHECK(failure(R"("link": "switch0-h1", "at": "1 us")") == "no error");
  CHECK(failure(R"("link": "h1-swich0", "at": "1 us")") ==
        "x.json:2: fabric.failures.0.link: \"h1-swich0\" matches no link; there are h0-switch0, "
        "h1-switch0, h2-switch0 or h3-switch0, did you mean \"h1-switch0\"?");
  CHECK(failure(R"("link": "h1-*", "at": "1 us", "until": "1 us")") ==
        "x.json:2: fabric.failures.0.until: must be later than \"at\"");
  CHECK(failure(R"("link": "h1-*", "at": "1 us", "convergence": "1 us")")
            .find("fabric.failures.0.convergence: must not be shorter than \"detection\"") !=
        std::string::npos);
}
