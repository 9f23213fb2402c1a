// SPDX-License-Identifier: MIT
// Who sends to whom, when, and how much.
#include "scenarios/engine/flows/flow_patterns.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <string>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

FlowRequest request(WorkloadPattern pattern, std::uint32_t hosts) {
  FlowRequest request;
  request.pattern = pattern;
  request.seed = 1;
  request.sizes = FlowSizes::always(1_MiB);
  request.from.resize(hosts);
  std::iota(request.from.begin(), request.from.end(), 0);
  request.to = request.from;
  request.rates.assign(hosts, BitRate::gbps(100));
  return request;
}

/// "0-3 1-3", in order
std::string pairs(const FlowPlan& plan) {
  std::string text;
  for (const Flow& flow : plan.flows)
    text += (text.empty() ? "" : " ") + std::to_string(flow.source) + '-' +
            std::to_string(flow.destination);
  return text;
}

}  // namespace

TEST_CASE("an incast goes from everybody else to one") {
  FlowRequest incast = request(WorkloadPattern::kIncast, 4);
  incast.to = {2};
  const FlowPlan plan = make_flows(incast);
  CHECK(pairs(plan) == "0-2 1-2 3-2");
  for (const Flow& flow : plan.flows) {
    CHECK(flow.bytes == 1_MiB);
    CHECK(flow.start == Time());
    CHECK(flow.trigger == Flow::kNone);
  }
}

TEST_CASE("all to all begins with each one's next neighbour") {
  CHECK(pairs(make_flows(request(WorkloadPattern::kAllToAll, 3))) == "0-1 0-2 1-2 1-0 2-0 2-1");
}

TEST_CASE("a permutation gives everybody another receiver, and the same for the same seed") {
  for (const std::uint32_t hosts : {2U, 3U, 128U}) {
    FlowRequest permutation = request(WorkloadPattern::kPermutation, hosts);
    const FlowPlan plan = make_flows(permutation);
    std::set<std::uint32_t> receivers;
    REQUIRE(plan.flows.size() == hosts);
    for (std::uint32_t i = 0; i < hosts; ++i) {
      CHECK(plan.flows[i].source == i);
      CHECK(plan.flows[i].destination != i);
      receivers.insert(plan.flows[i].destination);
    }
    CHECK(receivers.size() == hosts);
    CHECK(pairs(make_flows(permutation)) == pairs(plan));
    permutation.seed = 2;
    if (hosts > 3) CHECK(pairs(make_flows(permutation)) != pairs(plan));
  }
}

TEST_CASE("of a pair's flows as many as are in flight begin by themselves, the others after them") {
  FlowRequest incast = request(WorkloadPattern::kIncast, 2);
  incast.to = {1};
  incast.count = 5;
  incast.in_flight = 2;
  const FlowPlan plan = make_flows(incast);
  REQUIRE(plan.flows.size() == 5);
  CHECK(plan.triggers.size() == 3);
  CHECK(plan.flows[1].trigger == Flow::kNone);
  for (std::size_t i = 2; i < 5; ++i) {
    CHECK(plan.flows[i].trigger == i - 2);
    CHECK(plan.flows[i - 2].on_sent == i - 2);
  }
  CHECK(plan.flows[3].on_sent == Flow::kNone);
}

TEST_CASE("poisson offers the load it is asked for, in order of time, to others only") {
  FlowRequest poisson = request(WorkloadPattern::kPoisson, 8);
  poisson.load = 0.5;
  poisson.sizes = *FlowSizes::built_in("AliStorage2019");
  poisson.duration = 100_ms;
  const FlowPlan plan = make_flows(poisson);
  double bits = 0;
  Time before;
  std::set<std::uint32_t> senders;
  for (const Flow& flow : plan.flows) {
    REQUIRE(flow.source != flow.destination);
    REQUIRE(flow.destination < 8);
    REQUIRE(flow.start >= before);
    REQUIRE(flow.start < 100_ms);
    before = flow.start;
    senders.insert(flow.source);
    bits += static_cast<double>(flow.bytes.count()) * 8;
  }
  CHECK(senders.size() == 8);
  CHECK(bits / 0.1 == Approx(8 * 50e9).epsilon(0.05));

  poisson.duration.reset();
  poisson.count = 100;
  const FlowPlan first = make_flows(poisson);
  REQUIRE(first.flows.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(first.flows[i].start == plan.flows[i].start);
    CHECK(first.flows[i].bytes == plan.flows[i].bytes);
  }
}

TEST_CASE("requests that make no sense say why") {
  FlowRequest incast = request(WorkloadPattern::kIncast, 4);
  CHECK(flow_problem(incast) == "an incast has one receiver; this names 4");
  incast.to = {0};
  CHECK(flow_problem(incast).empty());
  incast.from = {0};
  CHECK(flow_problem(incast) == "there is nobody to send to");
  FlowRequest permutation = request(WorkloadPattern::kPermutation, 4);
  permutation.to = {0, 1};
  CHECK(flow_problem(permutation) ==
        "a permutation needs as many receivers as senders: 4 send, 2 receive");
  FlowRequest all = request(WorkloadPattern::kAllToAll, 1000);
  all.count = 100;
  CHECK(flow_problem(all) == "makes about 100000000 flows; at most 10000000 are possible");
}
