// SPDX-License-Identifier: MIT
// MAC and ARP tables of a switch: what it has heard, what it forgets, and where a packet goes whose
// destination it does not know.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/flooding.h"
#include "fabric/neighbours.h"
#include "tests/support/own_process.h"
#include "tests/support/switch_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SwitchBench;
using Verdict = Neighbours::Verdict;

namespace {

MacTableConfig mac_table(UnknownUnicast unknown, bool known) {
  MacTableConfig config;
  config.ageing = 100_us;
  config.unknown_unicast = unknown;
  config.initially_known = known;
  return config;
}

SwitchConfig learning_switch(UnknownUnicast unknown = UnknownUnicast::kFlood, bool known = false,
                             Forwarding forwarding = Forwarding::kRouted) {
  SwitchConfig config;
  config.forwarding = forwarding;
  config.mac_table = mac_table(unknown, known);
  return config;
}

void send(SwitchBench& bench, std::size_t from, std::uint32_t to, std::uint8_t priority = 3) {
  bench.ends[from].send(bench.ends[from].make({to, 1, 1024, priority}));
  bench.scheduler.run_until(bench.scheduler.now() + 10_us);
}

std::vector<std::uint64_t> received(const SwitchBench& bench) {
  std::vector<std::uint64_t> counts;
  for (const auto& end : bench.ends) counts.push_back(end.received_packets);
  return counts;
}

using Counts = std::vector<std::uint64_t>;

/// Why a row of three bridges, or a ring, is refused.
std::string refusal(bool ring, Forwarding last) {
  Topology topology(SwitchBench::end_names(3));
  for (std::uint32_t i = 0; i < 3; ++i) topology.add_switch("s" + std::to_string(i), 1);
  for (std::uint32_t i = 0; i < 3; ++i) topology.connect(i, 3 + i, LinkClass::kHost);
  topology.connect(3, 4, LinkClass::kFabric);
  topology.connect(4, 5, LinkClass::kFabric);
  if (ring) topology.connect(5, 3, LinkClass::kFabric);
  FabricConfig config;
  config.switches.assign(3, learning_switch(UnknownUnicast::kFlood, false, Forwarding::kBridged));
  config.switches[2].forwarding = last;
  Scheduler scheduler("scheduler");
  PacketPool packets;
  try {
    const Fabric fabric({scheduler, packets, 1}, std::move(topology), config, std::vector<Time>(3));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("bridges that flood are in a tree, and among themselves") {
  const auto run = [](bool ring, Forwarding last) {
    return test::in_own_process([=] { return refusal(ring, last); });
  };
  CHECK(run(false, Forwarding::kBridged).empty());
  CHECK(run(true, Forwarding::kBridged)
            .find("fabric.switch.mac_table: expected a topology without loops") !=
        std::string::npos);
  CHECK(run(false, Forwarding::kRouted).find("found routers among them") != std::string::npos);
}

TEST_CASE("an end point is known for the ageing time after it was last heard") {
  MacTable table(mac_table(UnknownUnicast::kFlood, false), 2);
  CHECK_FALSE(table.find(1, 0_us));
  table.learn(1, 7, 10_us);
  REQUIRE(table.find(1, 110_us - Time::ps(1)));
  CHECK(*table.find(1, 110_us - Time::ps(1)) == 7);
  CHECK_FALSE(table.find(1, 110_us));
  table.learn(1, 4, 120_us);
  REQUIRE(table.find(1, 120_us));
  CHECK(*table.find(1, 120_us) == 4);
  CHECK_FALSE(table.find(0, 120_us));
}

TEST_CASE("an ARP entry is valid for its ageing time, and renewed if its owner answers") {
  ArpTableConfig config;
  config.ageing = 1_ms;
  ArpTable table(config, 2);
  CHECK(table.resolve(0, false, 999_us));
  CHECK_FALSE(table.resolve(0, false, 1_ms));
  CHECK(table.resolve(0, true, 1500_us));
  CHECK(table.resolve(0, false, 2499_us));
  CHECK_FALSE(table.resolve(0, false, 2500_us));
}

TEST_CASE("an ARP table that is empty at first resolves who answers") {
  ArpTableConfig config;
  config.initially_complete = false;
  ArpTable table(config, 1);
  CHECK_FALSE(table.resolve(0, false, 0_us));
  CHECK(table.resolve(0, true, 0_us));
}

TEST_CASE("who is unknown is flooded or dropped, by name and by priority") {
  const auto verdict = [](UnknownUnicast unknown, bool lossless) {
    return Neighbours(mac_table(unknown, false), std::nullopt, 1).judge(0, lossless, 1_us);
  };
  CHECK(verdict(UnknownUnicast::kFlood, true) == Verdict::kFlood);
  CHECK(verdict(UnknownUnicast::kDrop, true) == Verdict::kDropUnknown);
  CHECK(verdict(UnknownUnicast::kDrop, false) == Verdict::kDropUnknown);
  CHECK(verdict(UnknownUnicast::kDropLossless, true) == Verdict::kDropUnknown);
  CHECK(verdict(UnknownUnicast::kDropLossless, false) == Verdict::kFlood);
}

TEST_CASE("a router drops what is for an address that it cannot resolve") {
  ArpTableConfig arp;
  arp.ageing = 50_us;
  Neighbours neighbours(mac_table(UnknownUnicast::kFlood, true), arp, 1);
  neighbours.assume(0, 3);
  CHECK(neighbours.judge(0, true, 40_us) == Verdict::kKnown);
  CHECK(neighbours.judge(0, true, 60_us) == Verdict::kKnown);  // it has answered
  CHECK(neighbours.judge(0, true, 105_us) == Verdict::kFlood);
  CHECK(neighbours.judge(0, true, 110_us) == Verdict::kDropUnresolved);
  neighbours.heard(0, 3, 111_us);
  CHECK(neighbours.judge(0, true, 112_us) == Verdict::kKnown);
}

TEST_CASE("copies of a flooded packet have a number until the last has left") {
  Flooding flooding;
  const auto first = flooding.begin(5, 2);
  const auto second = flooding.begin(6, 1);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first >= Packet::kFlooded);
  CHECK(*first != *second);
  CHECK(flooding.ingress_of(*first) == 5);
  CHECK(flooding.ingress_of(*second) == 6);
  CHECK_FALSE(flooding.last_left(*first));
  CHECK(flooding.last_left(*first));
  CHECK(flooding.begin(7, 1) == first);
}

TEST_CASE(
    "a packet for an unknown end point goes to every other port, and those that are heard are "
    "known") {
  SwitchBench bench(learning_switch(), std::vector<test::Cable>(4));
  send(bench, 0, 3);
  CHECK(received(bench) == Counts{0, 1, 1, 1});
  for (std::size_t i = 1; i < 4; ++i) CHECK(bench.ends[i].last->is_flooded());
  CHECK(bench.metric("port0.rx_flooded") == 1);
  CHECK(bench.the_switch.buffer().occupied() == Bytes());
  send(bench, 2, 1);
  CHECK(received(bench) == Counts{1, 1, 1, 1});
  CHECK_FALSE(bench.ends[0].last->is_flooded());
  send(bench, 0, 3);
  CHECK(received(bench) == Counts{1, 1, 2, 1});
  bench.scheduler.at(125_us, {[](void*, std::uint64_t) {}, nullptr, 0});
  bench.scheduler.run_until(125_us);
  send(bench, 0, 3);  // forgotten
  CHECK(received(bench) == Counts{1, 2, 3, 2});
  CHECK(bench.the_switch.taken_bytes() == bench.the_switch.given_bytes());
  CHECK(bench.the_switch.idle());
}

TEST_CASE("a bridge floods by Ethernet address as a router does by its ARP table") {
  SwitchBench bench(learning_switch(UnknownUnicast::kFlood, false, Forwarding::kBridged));
  send(bench, 0, 2);
  send(bench, 1, 1);
  CHECK(received(bench) == Counts{1, 1, 1});
}

TEST_CASE("a frame goes out where its end point was heard last, whatever the routes say") {
  SwitchBench bench(learning_switch(UnknownUnicast::kFlood, true, Forwarding::kBridged));
  PacketRef moved = bench.ends[1].make({3, 1});
  moved->eth.source = bench.ends[0].make({3, 1})->eth.source;
  bench.ends[1].send(std::move(moved));
  bench.scheduler.run_until(10_us);
  CHECK(received(bench) == Counts{0, 0, 1});
  send(bench, 2, 1);
  CHECK(received(bench) == Counts{0, 1, 1});
}

TEST_CASE("a switch that drops the unknown drops them, and counts") {
  SwitchBench bench(learning_switch(UnknownUnicast::kDropLossless));
  send(bench, 0, 2);
  CHECK(received(bench) == Counts{0, 0, 0});
  CHECK(bench.metric("port0.rx_unknown_unicast") == 1);
  send(bench, 0, 2, 1);  // lossy
  CHECK(received(bench) == Counts{0, 1, 1});
}

TEST_CASE("all are known at first unless it is said otherwise") {
  SwitchBench bench(learning_switch(UnknownUnicast::kDrop, true));
  send(bench, 0, 2);
  CHECK(received(bench) == Counts{0, 1, 0});
}

TEST_CASE("a router drops a flooded packet, which is addressed to somebody else") {
  SwitchBench bench{SwitchConfig{}};
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->ingress = Packet::kFlooded;
  bench.ends[0].send(std::move(packet));
  bench.scheduler.run_until(10_us);
  CHECK(received(bench) == Counts{0, 0, 0});
  CHECK(bench.metric("port0.rx_not_addressed") == 1);
}

TEST_CASE("the place of a flooded packet is free when its last copy has left, not before") {
  SwitchBench bench(learning_switch(), std::vector<test::Cable>(4));
  bench.ends[3].requester().xoff(3);
  bench.scheduler.run_until(5_us);
  send(bench, 0, 3);
  CHECK(received(bench) == Counts{0, 1, 1, 0});
  CHECK(bench.the_switch.buffer().occupied() == Bytes(6 * 208));  // 1086 B
  CHECK(bench.the_switch.buffer().egress_bytes(1) == Bytes());
  CHECK(bench.the_switch.holds_from(3, 0, 3));
  CHECK_FALSE(bench.the_switch.holds_from(3, 1, 3));
  bench.ends[3].requester().xon(3);
  bench.scheduler.run_until(100_us);
  CHECK(received(bench) == Counts{0, 1, 1, 1});
  CHECK(bench.the_switch.buffer().occupied() == Bytes());
  CHECK(bench.the_switch.idle());
}
