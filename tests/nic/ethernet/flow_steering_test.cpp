// SPDX-License-Identifier: MIT
#include "nic/ethernet/flow_steering.h"

#include <catch2/catch.hpp>
#include <map>

using namespace rnicsim;

namespace {

FlowKey flow(std::uint16_t source_port) {
  return {abi::Ipv4Address(0x0a000001), abi::Ipv4Address(0x0a000002), source_port, 5001};
}
abi::EthernetFlowRule rule(std::uint16_t source_port, std::uint32_t queue) {
  return {abi::Ipv4Address(0x0a000001), abi::Ipv4Address(0x0a000002), source_port, 5001, queue};
}

}  // namespace

TEST_CASE("flows spread over the queues that take part by the lowest bits of their hash") {
  FlowSteering steering{EthernetConfig()};
  steering.add_queue(9, true);
  steering.add_queue(2, true);
  steering.add_queue(5, false);
  steering.add_queue(7, true);
  const std::uint32_t members[] = {2, 7, 9};
  std::map<std::uint32_t, int> flows;
  for (std::uint16_t port = 0; port < 300; ++port) {
    const FlowSteering::Choice choice = steering.choose(flow(port));
    CHECK(choice.hash == flow_hash(flow(port)));
    REQUIRE(choice.queue == members[choice.hash % 128 % 3]);
    ++flows[choice.queue];
  }
  for (const std::uint32_t member : members) CHECK(flows[member] > 60);
}

TEST_CASE("without RSS, or with nobody who takes part, all flows go to the first queue") {
  EthernetConfig config;
  config.rss = false;
  FlowSteering without{config};
  FlowSteering nobody{EthernetConfig()};
  CHECK(without.choose(flow(1)).queue == FlowSteering::kNoQueue);
  for (const std::uint32_t queue : {4u, 3u}) {
    without.add_queue(queue, true);
    nobody.add_queue(queue, false);
  }
  for (std::uint16_t port = 0; port < 50; ++port) {
    CHECK(without.choose(flow(port)).queue == 3);
    CHECK(nobody.choose(flow(port)).queue == 3);
  }
}

TEST_CASE("a rule sends its flow, and no other, to its queue until it is cleared") {
  FlowSteering steering{EthernetConfig()};
  steering.add_queue(0, true);
  steering.add_queue(1, false);
  REQUIRE(steering.set_rule(17, rule(1000, 1)));
  CHECK(steering.choose(flow(1000)).queue == 1);
  CHECK(steering.choose(flow(1001)).queue == 0);
  CHECK(steering.ruled() == 1);
  SECTION("cleared") {
    REQUIRE(steering.clear_rule(17));
    CHECK_FALSE(steering.clear_rule(17));
    CHECK(steering.choose(flow(1000)).queue == 0);
  }
  SECTION("set to another flow") {
    REQUIRE(steering.set_rule(17, rule(1001, 1)));
    CHECK(steering.choose(flow(1000)).queue == 0);
    CHECK(steering.choose(flow(1001)).queue == 1);
  }
  SECTION("its queue goes, and so does the rule") {
    steering.remove_queue(1);
    CHECK(steering.choose(flow(1000)).queue == 0);
    CHECK_FALSE(steering.clear_rule(17));
  }
}

TEST_CASE("a rule needs a number, a queue and a flow that has no rule") {
  EthernetConfig config;
  config.flow_rules = 2;
  FlowSteering steering{config};
  steering.add_queue(0, true);
  CHECK_FALSE(steering.set_rule(2, rule(1, 0)));
  CHECK_FALSE(steering.set_rule(0, rule(1, 1)));
  REQUIRE(steering.set_rule(0, rule(1, 0)));
  CHECK_FALSE(steering.set_rule(1, rule(1, 0)));
  CHECK(steering.set_rule(0, rule(1, 0)));
  CHECK(steering.set_rule(1, rule(2, 0)));
}
