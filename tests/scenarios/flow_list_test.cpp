// SPDX-License-Identifier: MIT
// Flows written one by one: their order, and what is wrong with a list.
#include "scenarios/engine/flows/flow_list.h"

#include <catch2/catch.hpp>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

const std::map<std::string, std::uint32_t> kEnds = {
    {"A", 0}, {"A.nic0", 0}, {"A.nic1", 1}, {"B", 2}, {"C", 3}};

FlowSpec flow(const char* name, const char* from, const char* to,
              std::vector<std::string> after = {}) {
  FlowSpec spec;
  spec.name = name;
  spec.from = from;
  spec.to = to;
  spec.after = std::move(after);
  return spec;
}

std::string problem_of(const std::vector<FlowSpec>& flows) {
  const auto problem = flow_list_problem(flows, kEnds);
  if (!problem) return "none";
  return problem->key + ": " + problem->text +
         (problem->nearest.empty() ? "" : " (" + problem->nearest + "?)");
}

}  // namespace

TEST_CASE("a flow behind others waits for each of them, and pulls what waits for it") {
  std::vector<FlowSpec> list = {flow("d", "B", "C", {"b", "a"}), flow("a", "A", "B"),
                                flow("b", "A.nic1", "B", {"a"})};
  list[0].start = 3_us;
  list[0].size = 5_KiB;
  list[1].priority = 5;
  REQUIRE(problem_of(list) == "none");
  const FlowPlan plan = make_flow_list(list, kEnds);
  REQUIRE(plan.flows.size() == 3);
  CHECK(plan.flows[0].source == 2);
  CHECK(plan.flows[0].destination == 3);
  CHECK(plan.flows[0].bytes == 5_KiB);
  CHECK(plan.flows[0].start == 3_us);
  CHECK(plan.flows[0].trigger == 0);
  CHECK(plan.flows[0].priority == Flow::kNoPriority);
  CHECK(plan.flows[1].trigger == Flow::kNone);
  CHECK(plan.flows[1].priority == 5);
  CHECK(plan.flows[2].source == 1);
  CHECK(plan.flows[2].trigger == 1);
  REQUIRE(plan.triggers.size() == 2);
  CHECK(plan.triggers[0].needed == 2);
  CHECK(plan.triggers[1].needed == 1);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pulls;
  for (const FlowPull& pull : plan.pulls) pulls.emplace_back(pull.flow, pull.trigger);
  CHECK(pulls == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 0}, {1, 1}, {2, 0}});
}

TEST_CASE("what is wrong with a list is said with its place") {
  CHECK(problem_of({}) == ": an empty list; it must have flows");
  CHECK(problem_of({flow("a", "A", "B"), flow("a", "B", "C")}) ==
        "1.name: \"a\" is already the name of flow 0");
  CHECK(problem_of({flow("a", "D", "B")}).find("0.from: unknown host \"D\"") == 0);
  CHECK(problem_of({flow("a", "B", "A.nic2")}) == "0.to: unknown host \"A.nic2\" (A.nic0?)");
  CHECK(problem_of({flow("a", "A", "A.nic0")}) == "0.to: a flow from a host to itself");
  CHECK(problem_of({flow("first", "A", "B"), flow("b", "A", "B", {"frist"})}) ==
        "1.after.0: no flow of the list is called \"frist\" (first?)");
  CHECK(problem_of({flow("a", "A", "B"), flow("b", "A", "B", {"a", "a"})}) ==
        "1.after.1: \"a\" stands in the list twice");
  CHECK(problem_of({flow("a", "A", "B"), flow("b", "A", "B", {"c"}), flow("c", "A", "B", {"b"})}) ==
        "1.after: waits for itself, over the flows that it names");
  CHECK(problem_of({flow("a", "A", "B", {"a"})}) ==
        "0.after: waits for itself, over the flows that it names");
}
