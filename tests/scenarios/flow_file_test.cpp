// SPDX-License-Identifier: MIT
// Flows from files of HPCC and htsim.
#include "scenarios/engine/flows/flow_file.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>

#include "model/config_error.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

std::vector<std::uint32_t> hosts(std::uint32_t count) {
  std::vector<std::uint32_t> ends(count);
  std::iota(ends.begin(), ends.end(), 0);
  return ends;
}

std::string error_of(const std::string& text, std::uint32_t count = 4) {
  try {
    read_flow_file(text, "x", hosts(count));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an HPCC flow file: priorities, ports, sizes, and times from the earliest") {
  const FlowPlan plan = read_flow_file(
      "2\n1 0 3 100 200000 2.000000000\n0 3 5 200 1000000000000 2.0000015\n\nFirst line: flow #\n",
      "x", {10, 11, Flow::kNone, 13});
  REQUIRE(plan.flows.size() == 2);
  CHECK(plan.triggers.empty());
  CHECK(plan.flows[0].source == 11);
  CHECK(plan.flows[0].destination == 10);
  CHECK(plan.flows[0].priority == 3);
  CHECK(plan.flows[0].port == 100);
  CHECK(plan.flows[0].bytes == Bytes(200000));
  CHECK(plan.flows[0].start == Time());
  CHECK(plan.flows[1].destination == 13);
  CHECK(plan.flows[1].priority == 5);
  CHECK(plan.flows[1].port == 200);
  CHECK(plan.flows[1].bytes == Bytes(1000000000000));
  CHECK(plan.flows[1].start == 1500_ns);
}

TEST_CASE("an HPCC flow file that is wrong says where") {
  CHECK(error_of("2\n0 1 3 100 1 2\n") == "x:2: line 1 says 2 flows, the body has 1");
  CHECK(error_of("1\n0 1 3 100 1 2\n1 0 3 100 1 2\n1 2 3 100 1 2\n") ==
        "x:4: line 1 says 1 flows, the body has 3");
  CHECK(error_of("1 2\n") == "x:1: expected the number of flows, alone on its line, found 2 words");
  CHECK(error_of("0\n") == "x:1: there are no flows");
  CHECK(error_of("1\n0 1 3 100 1\n") ==
        "x:2: expected a flow: src dst pg dport size_bytes start_seconds, found 5 words");
  CHECK(error_of("1\n0 4 3 100 1 2\n") == "x:2: no host 4: ids are 0 to 3");
  CHECK(error_of("1\n2 2 3 100 1 2\n") == "x:2: a flow from a host to itself");
  CHECK(error_of("1\n0 1 8 100 1 2\n") ==
        "x:2: expected a priority group, a whole number up to 7, found \"8\"");
  CHECK(error_of("1\n0 1 3 100 0 2\n") == "x:2: expected a size of at least 1 B, found 0");
  CHECK(error_of("1\n0 1 3 100 1 soon\n") == "x:2: expected a start in seconds, found \"soon\"");
}

TEST_CASE("an htsim connection matrix with triggers of all kinds") {
  const FlowPlan plan = read_flow_file(
      "# a comment\nNodes 4\nConnections 6\nTriggers 3\nFailures 0\n"
      "0->1 id 1 start 0 size 2000 send_done_trigger 1\n"
      "0->2 id 2 start 5000 size 3000 prio 2 recv_done_trigger 2 send_done_trigger 3\n"
      "1->2 id 3 trigger 1 size 10 send_done_trigger 2\n"
      "trigger id 1 oneshot\n"
      "trigger id 2 barrier count 2\n"
      "trigger id 3 multishot\n"
      "2->3 trigger 2 size 20 send_done_trigger 3\n"
      "3->1 trigger 3 size 30\n"
      "3->2 trigger 3 size 40\n",
      "x", hosts(4));
  REQUIRE(plan.flows.size() == 6);
  REQUIRE(plan.triggers.size() == 3);
  CHECK(plan.flows[0].start == Time());
  CHECK(plan.flows[0].on_sent == 0);
  CHECK(plan.flows[1].start == 5_ns);
  CHECK(plan.flows[1].priority == 2);
  CHECK(plan.flows[1].on_received == 1);
  CHECK(plan.flows[1].on_sent == 2);
  CHECK(plan.flows[2].trigger == 0);
  CHECK(plan.flows[2].priority == Flow::kNoPriority);
  CHECK(plan.flows[3].trigger == 1);
  CHECK(plan.triggers[0].needed == 1);
  CHECK(plan.triggers[1].needed == 2);
  CHECK_FALSE(plan.triggers[1].one_by_one);
  CHECK(plan.triggers[2].one_by_one);
}

TEST_CASE("an htsim connection matrix that is wrong says where") {
  const std::string head = "Nodes 4\nConnections 1\n";
  CHECK(error_of("Nodes 4\nConnections 2\n0->1 start 0 size 1\n") ==
        "x:3: line 2 says 2 connections, the body has 1");
  CHECK(error_of("Nodes 5\nConnections 1\n0->1 start 0 size 1\n") ==
        "x:1: 5 nodes, but the scenario has 4");
  CHECK(error_of("Nodes 3\nConnections 1\n0->3 start 0 size 1\n") ==
        "x:3: node 3, but line 1 says 3 nodes");
  CHECK(error_of(head + "0->1 start 0 trigger 1 size 1\n") ==
        "x:3: expected one of start and trigger, found both");
  CHECK(error_of(head + "0->1 size 1\n") == "x:3: expected start or trigger, found neither");
  CHECK(error_of(head + "0->1 start 0\n") ==
        "x:3: expected a size: a connection without one never ends, found none");
  CHECK(error_of(head + "0->x start 0 size 1\n") == "x:3: expected src->dst, found \"0->x\"");
  CHECK(error_of(head + "0->99999999999999999999999 start 0 size 1\n").find("src->dst") !=
        std::string::npos);
  CHECK(error_of(head + "0->1 id 0 start 0 size 1\n") ==
        "x:3: expected id of a connection above 0, found 0");
  CHECK(error_of(head + "0->1 trigger 7 size 1\n") == "x:3: trigger 7 is used and never defined");
  CHECK(error_of("Nodes 4\nConnections 1\nTriggers 0\n0->1 trigger 7 size 1\n") ==
        "x:4: trigger 7 is used and never defined");
  CHECK(error_of(
            "Nodes 4\nConnections 1\nTriggers 1\n0->1 trigger 7 size 1\ntrigger id 7 oneshot\n") ==
        "x:5: trigger 7 needs 1 pulls, and 0 connections pull it");
  CHECK(
      error_of("Nodes 4\nConnections 1\nTriggers 2\n0->1 start 0 size 1\ntrigger id 7 oneshot\n") ==
      "x:5: line 3 says 2 triggers, the body has 1");
  CHECK(error_of("Nodes 4\nConnections 1\nFailures 2\n") ==
        "x:3: expected no failures: fabric.failures has them, found 2");
  CHECK(error_of("hello\n") ==
        "x:1: expected Nodes, Connections, Triggers, Failures, trigger or src->dst, found "
        "\"hello\"");
  CHECK(error_of("") == "x: expected Nodes N, found none");
}
