// SPDX-License-Identifier: MIT
#include "fabric/routes.h"

#include <catch2/catch.hpp>

#include "fabric/buffer_dependency.h"
#include "tests/fabric/topology_kit.h"

using namespace rnicsim;
using namespace rnicsim::testing;

namespace {

using Ports = std::vector<std::uint16_t>;

const char* const kFatTree4 = R"({"topology": "fat_tree", "fat_tree": {"k": 4}})";
const char* const kDragonfly = R"({"topology": "dragonfly", "dragonfly":
    {"groups": 9, "routers": 4, "nics_per_router": 2, "global_links": 2}})";
const char* const kClockwise = R"({"topology": "ring", "ring": {"routes": "clockwise"}})";

std::uint32_t link_between(const Topology& topology, const std::string& a, const std::string& b) {
  for (std::uint32_t i = 0; i < topology.links().size(); ++i) {
    const TopologyLink& link = topology.links()[i];
    if (topology.node(link.a.node).name == a && topology.node(link.b.node).name == b) return i;
  }
  FAIL("no link from " << a << " to " << b);
  return kNoLink;
}

std::size_t hops(const Topology& topology, const Routes& routes, std::uint32_t from,
                 std::uint32_t to) {
  return routes.first_path(topology, from, to).size();
}

/// How many paths of every switch's choice lead to the destination, and how long the longest is.
struct Paths {
  std::uint64_t count = 0;
  unsigned longest = 0;
  unsigned most_global = 0;
};
void follow(const Topology& topology, const Routes& routes, std::uint32_t node, std::uint32_t to,
            unsigned length, unsigned global, Paths& paths) {
  if (node == to) {
    ++paths.count;
    paths.longest = std::max(paths.longest, length);
    paths.most_global = std::max(paths.most_global, global);
    return;
  }
  REQUIRE(length < 16);
  for (const std::uint16_t port : routes.ports(node, to)) {
    const PortRef out{node, port};
    const TopologyLink& link = topology.links()[topology.node(node).links[port]];
    follow(topology, routes, topology.peer(out).node, to, length + 1,
           global + (link.link_class == LinkClass::kGlobal ? 1 : 0), paths);
  }
}
Paths all_paths(const Topology& topology, const Routes& routes, std::uint32_t from,
                std::uint32_t to) {
  Paths paths;
  follow(topology, routes, topology.peer({from, 0}).node, to, 1, 0, paths);
  return paths;
}

std::vector<std::string> cycle_of(const Topology& topology, const Routes& routes) {
  std::vector<std::string> names;
  for (const PortRef port : find_dependency_cycle(topology, routes))
    names.push_back(topology.name_of(port));
  return names;
}

}  // namespace

TEST_CASE("In a fat tree of k = 4 there is one way in the switch, two in the pod, four beyond") {
  const Topology topology = topology_of(kFatTree4, 16);
  const Routes routes(topology);
  CHECK(ports_to(topology, routes, "edge0_0", "h1") == Ports{1});
  CHECK(ports_to(topology, routes, "edge0_0", "h2") == Ports{2, 3});
  CHECK(ports_to(topology, routes, "edge0_0", "h15") == Ports{2, 3});
  CHECK(ports_to(topology, routes, "aggregation0_1", "h15") == Ports{2, 3});
  CHECK(ports_to(topology, routes, "aggregation0_1", "h2") == Ports{1});
  CHECK(ports_to(topology, routes, "core2", "h15") == Ports{3});
  CHECK(all_paths(topology, routes, 0, 1).count == 1);
  CHECK(all_paths(topology, routes, 0, 2).count == 2);
  CHECK(all_paths(topology, routes, 0, 4).count == 4);
  CHECK(hops(topology, routes, 0, 1) == 2);
  CHECK(hops(topology, routes, 0, 2) == 4);
  CHECK(hops(topology, routes, 0, 15) == 6);
  CHECK(path_of(topology, routes, "h0", "h15") ==
        "h0 edge0_0 aggregation0_0 core0 aggregation3_0 edge3_1 h15");
}

TEST_CASE("Every path of a fat tree with empty places ends where it should") {
  const Topology topology = topology_of(R"({"topology": "fat_tree", "fat_tree": {"k": 6}})", 50);
  const Routes routes(topology);
  for (std::uint32_t to = 0; to < 50; ++to) {
    if (to == 0) continue;
    const Paths paths = all_paths(topology, routes, 0, to);
    const std::uint64_t expected = to < 3 ? 1 : to < 9 ? 3 : 9;
    CHECK(paths.count == expected);
    CHECK(paths.longest == (to < 3 ? 2 : to < 9 ? 4 : 6));
  }
}

TEST_CASE("Parallel links are equal ways") {
  const Topology topology = topology_of(
      R"({"topology": "leaf_spine", "leaf_spine": {"leaves": 2, "spines": 2, "links_per_pair": 2}})",
      4);
  const Routes routes(topology);
  CHECK(ports_to(topology, routes, "leaf0", "h2") == Ports{2, 3, 4, 5});
  CHECK(ports_to(topology, routes, "spine1", "h2") == Ports{2, 3});
}

TEST_CASE("A failed link is not used, and its switch takes the other ones") {
  const Topology topology = topology_of(kFatTree4, 16);
  const Routes routes(topology, {link_between(topology, "edge0_0", "aggregation0_0")});
  CHECK(ports_to(topology, routes, "edge0_0", "h2") == Ports{3});
  CHECK(ports_to(topology, routes, "edge0_1", "h0") == Ports{3});
  CHECK(ports_to(topology, routes, "core2", "h0") == Ports{0});
  // Over core0 it is no shortest way any more: aggregation0_0 cannot go down to edge0_0.
  CHECK(ports_to(topology, routes, "edge3_1", "h0") == Ports{3});
  CHECK(ports_to(topology, routes, "edge3_1", "h2") == Ports{2, 3});
  CHECK(hops(topology, routes, 15, 0) == 6);
}

TEST_CASE("What cannot be reached has an empty group and no path") {
  const Topology topology = topology_of(R"({"topology": "dumbbell"})", 4);
  const Routes cut(topology, {link_between(topology, "left", "right")});
  CHECK(ports_to(topology, cut, "left", "h3").empty());
  CHECK(ports_to(topology, cut, "left", "h1") == Ports{1});
  CHECK(path_of(topology, cut, "h0", "h3").empty());
  const Routes unplugged(topology, {link_between(topology, "h3", "right")});
  CHECK(ports_to(topology, unplugged, "left", "h3").empty());
  CHECK(ports_to(topology, unplugged, "right", "h3").empty());
  CHECK(ports_to(topology, unplugged, "left", "h2") == Ports{2});
  CHECK(path_of(topology, unplugged, "h3", "h0").empty());
}

TEST_CASE("Two hosts without a switch reach each other over their own ports") {
  const Topology topology = topology_of("{}", std::vector<std::string>{"A", "B"});
  const Routes routes(topology);
  CHECK(path_of(topology, routes, "A", "B") == "A B");
}

TEST_CASE("A ring takes the shorter side, and either where both are equal") {
  const Topology topology = topology_of(R"({"topology": "ring", "ring": {"switches": 4}})", 4);
  const Routes routes(topology);
  CHECK(path_of(topology, routes, "h0", "h1") == "h0 switch0 switch1 h1");
  CHECK(path_of(topology, routes, "h0", "h3") == "h0 switch0 switch3 h3");
  CHECK(ports_to(topology, routes, "switch0", "h2") == Ports{1, 2});
}

TEST_CASE("A clockwise ring goes round even to the neighbour before") {
  const Topology topology = topology_of(kClockwise, 3);
  const Routes routes(topology);
  CHECK(path_of(topology, routes, "h0", "h2") == "h0 switch0 switch1 switch2 h2");
  CHECK(path_of(topology, routes, "h2", "h1") == "h2 switch2 switch0 switch1 h1");
}

TEST_CASE("A dragonfly's routes cross at most one global link") {
  const Topology topology = topology_of(kDragonfly, 72);
  const Routes routes(topology);
  for (std::uint32_t from = 0; from < 72; from += 7) {
    for (std::uint32_t to = 0; to < 72; ++to) {
      if (from == to) continue;
      const Paths paths = all_paths(topology, routes, from, to);
      CHECK(paths.count == 1);
      CHECK(paths.most_global == (from / 8 == to / 8 ? 0 : 1));
      CHECK(paths.longest <= 5);
    }
  }
  CHECK(path_of(topology, routes, "h0", "h71") == "h0 router0_0 router0_3 router8_0 router8_3 h71");
}

TEST_CASE("A dragonfly without the one global link goes by a third group") {
  const Topology topology = topology_of(kDragonfly, 72);
  const Routes routes(topology, {link_between(topology, "router0_3", "router8_0")});
  const Paths paths = all_paths(topology, routes, 0, 71);
  CHECK(paths.count > 0);
  CHECK(paths.most_global == 2);
  CHECK(all_paths(topology, routes, 0, 63).most_global == 1);
}

TEST_CASE("The same topology gives the same routes, whatever came before") {
  const Topology topology = topology_of(kFatTree4, 16);
  const Routes first(topology);
  const Routes second(topology, {0, 20});
  const Routes third(topology);
  for (std::uint32_t node = 16; node < topology.nodes().size(); ++node) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      const PortGroup a = first.ports(node, to);
      const PortGroup b = third.ports(node, to);
      CHECK(Ports(a.begin(), a.end()) == Ports(b.begin(), b.end()));
      CHECK(std::is_sorted(a.begin(), a.end()));
    }
  }
  CHECK(second.ports(16, 0).empty());
}

TEST_CASE("Three switches whose packets all go round clockwise wait for one another in a circle") {
  const Topology topology = topology_of(kClockwise, 3);
  CHECK(cycle_of(topology, Routes(topology)) ==
        std::vector<std::string>{"switch0.port1", "switch1.port2", "switch2.port2"});
}

TEST_CASE("Three switches that take the short side wait for nobody, five do") {
  const Topology three = topology_of(R"({"topology": "ring"})", 3);
  CHECK(cycle_of(three, Routes(three)).empty());
  const Topology five = topology_of(R"({"topology": "ring", "ring": {"switches": 5}})", 5);
  CHECK(cycle_of(five, Routes(five)).size() == 5);
}

TEST_CASE("Up and down a fat tree nobody waits in a circle, with a link failed neither") {
  const Topology topology = topology_of(kFatTree4, 16);
  CHECK(cycle_of(topology, Routes(topology)).empty());
  const Routes failed(topology, {link_between(topology, "edge0_0", "aggregation0_0")});
  CHECK(cycle_of(topology, failed).empty());
}

TEST_CASE("Two failed links make packets bounce down and up again, and that closes a circle") {
  const Topology topology =
      topology_of(R"({"topology": "leaf_spine", "leaf_spine": {"leaves": 4, "spines": 2}})", 4);
  CHECK(cycle_of(topology, Routes(topology)).empty());
  const Routes failed(topology, {link_between(topology, "leaf0", "spine0"),
                                 link_between(topology, "leaf3", "spine1")});
  CHECK(path_of(topology, failed, "h0", "h3") == "h0 leaf0 spine1 leaf1 spine0 leaf3 h3");
  CHECK(cycle_of(topology, failed) ==
        std::vector<std::string>{"leaf1.port1", "spine0.port2", "leaf2.port2", "spine1.port1"});
}

TEST_CASE("Ports that no packet passes close no circle") {
  // All NICs at one switch: the circle of the others has routes, but no traffic.
  const Topology topology = topology_of(R"({"topology": "explicit", "explicit": {
      "switches": [{"name": "s0"}, {"name": "s1"}, {"name": "s2"}],
      "links": [{"from": "h0", "to": "s0"}, {"from": "h1", "to": "s0"},
                {"from": "s0", "to": "s1", "one_way": true},
                {"from": "s1", "to": "s2", "one_way": true},
                {"from": "s2", "to": "s0", "one_way": true}]}})",
                                        2);
  const Routes routes(topology);
  CHECK(ports_to(topology, routes, "s1", "h0") == Ports{1});
  CHECK(cycle_of(topology, routes).empty());
}
