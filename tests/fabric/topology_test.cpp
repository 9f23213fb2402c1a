// SPDX-License-Identifier: MIT
#include "fabric/topology.h"

#include <catch2/catch.hpp>

#include "model/config_output.h"
#include "tests/fabric/topology_kit.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::testing;

namespace {

using Texts = std::vector<std::string>;
using Counts = std::vector<std::uint32_t>;

std::string build_error(const std::string& json, const Texts& end_points) {
  return error_of([&] { topology_of(json, end_points); });
}
std::string build_error(const std::string& json, std::size_t end_points) {
  return build_error(json, nics(end_points));
}

}  // namespace

TEST_CASE("Both ends of a link know each other and the link") {
  Topology topology(nics(1));
  const std::uint32_t one = topology.add_switch("one", 1);
  topology.add_port(one);
  const std::uint32_t link = topology.connect(0, one, LinkClass::kHost);
  CHECK(topology.node(one).links == Counts{kNoLink, link});
  CHECK(topology.peer({0, 0}) == PortRef{one, 1});
  CHECK(topology.peer({one, 1}) == PortRef{0, 0});
  CHECK(topology.name_of({one, 1}) == "one.port1");
}

TEST_CASE("Two nodes of one name are refused") {
  CHECK(error_of([] {
          Topology topology(Texts{"A", "B", "A"});
        }) == "\"A\" is the name of two nodes of the topology");
  CHECK(build_error(R"({"topology": "star"})", Texts{"A", "switch0"}) ==
        "topology: \"switch0\" is the name of two nodes of the topology");
}

TEST_CASE("back_to_back connects two hosts, NIC by NIC") {
  CHECK(links_of(topology_of("{}", Texts{"A", "B"})) == Texts{"A.port0-B.port0"});
  CHECK(links_of(topology_of("{}", Texts{"A.nic0", "A.nic1", "B.nic0", "B.nic1"})) ==
        Texts{"A.nic0.port0-B.nic0.port0", "A.nic1.port0-B.nic1.port0"});
  const std::string needs = "topology: back_to_back needs 2 hosts with equally many NICs, found ";
  CHECK(build_error("{}", Texts{"A", "B", "C"}) == needs + "A, B, C");
  CHECK(build_error("{}", Texts{"A", "B", "C", "D"}) == needs + "A, B, C, D");
  CHECK(build_error("{}", Texts{"A.nic0", "A.nic1"}) == needs + "A.nic0, A.nic1");
  CHECK(build_error("{}", Texts{}) == needs + "none");
}

TEST_CASE("star has one switch whose ports are the NICs in their order") {
  const Topology topology = topology_of(R"({"topology": "star"})", 3);
  CHECK(links_of(topology) ==
        Texts{"h0.port0-switch0.port0", "h1.port0-switch0.port1", "h2.port0-switch0.port2"});
  CHECK(topology.notes.empty());
}

TEST_CASE("dumbbell divides the NICs in halves, or as it is told") {
  CHECK(links_of(topology_of(R"({"topology": "dumbbell"})", 3)) ==
        Texts{"h0.port0-left.port0", "h1.port0-left.port1", "h2.port0-right.port0",
              "left.port2-right.port1"});
  const Topology uneven =
      topology_of(R"({"topology": "dumbbell", "dumbbell": {"left_nics": 1, "links": 2}})", 3);
  CHECK(links_of(uneven) == Texts{"h0.port0-left.port0", "h1.port0-right.port0",
                                  "h2.port0-right.port1", "left.port1-right.port2",
                                  "left.port2-right.port3"});
  CHECK(uneven.links()[2].link_class == LinkClass::kHost);
  CHECK(uneven.links()[3].link_class == LinkClass::kFabric);
  CHECK(build_error(R"({"topology": "dumbbell", "dumbbell": {"left_nics": 4}})", 3) ==
        "dumbbell.left_nics: says 4 NICs are at the left switch, the scenario has 3");
}

TEST_CASE("parking_lot has its switches in a row, and the last one takes the NIC that is over") {
  CHECK(links_of(topology_of(R"({"topology": "parking_lot"})", 4)) ==
        Texts{"h0.port0-switch0.port0", "h1.port0-switch1.port0", "h2.port0-switch2.port0",
              "h3.port0-switch2.port1", "switch0.port1-switch1.port1",
              "switch1.port2-switch2.port2"});
}

TEST_CASE("ring closes the circle of its switches") {
  const Topology topology = topology_of(R"({"topology": "ring"})", 4);
  CHECK(links_of(topology) == Texts{"h0.port0-switch0.port0", "h1.port0-switch0.port1",
                                    "h2.port0-switch1.port0", "h3.port0-switch2.port0",
                                    "switch0.port2-switch1.port1", "switch1.port2-switch2.port1",
                                    "switch2.port2-switch0.port3"});
  CHECK_FALSE(topology.links()[4].own.one_way);
  const Topology clockwise =
      topology_of(R"({"topology": "ring", "ring": {"routes": "clockwise"}})", 3);
  CHECK(clockwise.links()[3].own.one_way);
  CHECK_FALSE(clockwise.links()[0].own.one_way);
}

TEST_CASE("leaf_spine links every leaf with every spine, NICs spread evenly") {
  const Topology topology = topology_of(
      R"({"topology": "leaf_spine", "leaf_spine": {"leaves": 2, "spines": 2, "links_per_pair": 2}})",
      3);
  CHECK(links_of(topology) ==
        Texts{"h0.port0-leaf0.port0", "h1.port0-leaf0.port1", "h2.port0-leaf1.port0",
              "leaf0.port2-spine0.port0", "leaf0.port3-spine0.port1", "leaf0.port4-spine1.port0",
              "leaf0.port5-spine1.port1", "leaf1.port1-spine0.port2", "leaf1.port2-spine0.port3",
              "leaf1.port3-spine1.port2", "leaf1.port4-spine1.port3"});
  CHECK(topology.node(node_of(topology, "leaf0")).tier == 1);
  CHECK(topology.node(node_of(topology, "spine1")).tier == 2);
}

TEST_CASE("leaf_spine with given places fills them in order and says which stay empty") {
  const std::string json = R"({"topology": "leaf_spine", "leaf_spine":
      {"leaves": 3, "spines": 1, "nics_per_leaf": 2}})";
  const Topology topology = topology_of(json, 3);
  CHECK(degrees(topology) == Counts{3, 3, 3, 3});
  CHECK(topology.notes == Texts{"3 of 6 places for NICs stay empty: 1 at leaf1, 2 at leaf2"});
  CHECK(topology.node(node_of(topology, "leaf1")).links[1] == kNoLink);
  CHECK(build_error(json, 7) ==
        "leaf_spine.nics_per_leaf: leaf_spine with 3 leaves has places for 6 NICs, the scenario "
        "has 7");
}

TEST_CASE("A fat tree of k = 4 has 16 places, 20 switches of 4 ports and 48 links") {
  const Topology topology = topology_of(R"({"topology": "fat_tree", "fat_tree": {"k": 4}})", 16);
  CHECK(topology.end_points() == 16);
  CHECK(topology.links().size() == 48);
  CHECK(degrees(topology) == Counts(20, 4));
  CHECK(topology.node(16).name == "edge0_0");
  CHECK(topology.node(23).name == "edge3_1");
  CHECK(topology.node(24).name == "aggregation0_0");
  CHECK(topology.node(32).name == "core0");
  CHECK(topology.node(35).name == "core3");
  CHECK(topology.node(35).tier == 3);
  const Texts links = links_of(topology);
  CHECK(links[0] == "h0.port0-edge0_0.port0");
  CHECK(links[16] == "edge0_0.port2-aggregation0_0.port0");
  CHECK(links[17] == "edge0_0.port3-aggregation0_1.port0");
  CHECK(links[18] == "edge0_1.port2-aggregation0_0.port1");
  CHECK(links[32] == "aggregation0_0.port2-core0.port0");
  CHECK(links[33] == "aggregation0_0.port3-core1.port0");
  CHECK(links[34] == "aggregation0_1.port2-core2.port0");
  CHECK(links[47] == "aggregation3_1.port3-core3.port3");
}

TEST_CASE("A fat tree with fewer NICs keeps its ports, with more it is refused") {
  const std::string json = R"({"topology": "fat_tree", "fat_tree": {"k": 8}})";
  const Topology topology = topology_of(json, 100);
  CHECK(degrees(topology) == Counts(80, 8));
  CHECK(topology.notes == Texts{"28 of 128 places for NICs stay empty: 4 at edge6_1, 4 at edge6_2, "
                                "4 at edge6_3, 4 at edge7_0, 4 at edge7_1, 4 at edge7_2, "
                                "4 at edge7_3"});
  CHECK(build_error(json, 129) ==
        "fat_tree.k: fat_tree with k = 8 has places for 128 NICs, the scenario has 129");
}

TEST_CASE("A note names eight switches and counts the others") {
  const Topology topology = topology_of(R"({"topology": "fat_tree", "fat_tree": {"k": 8}})", 1);
  REQUIRE(topology.notes.size() == 1);
  CHECK(topology.notes[0].find("4 at edge1_3 and those of 24 more switches") != std::string::npos);
}

TEST_CASE("A balanced dragonfly links every two groups once and every two routers of a group") {
  const Topology topology = topology_of(R"({"topology": "dragonfly", "dragonfly":
      {"groups": 9, "routers": 4, "nics_per_router": 2, "global_links": 2}})",
                                        72);
  CHECK(topology.links().size() == 72 + 9 * 6 + 36);
  CHECK(degrees(topology) == Counts(36, 2 + 3 + 2));
  CHECK(topology.notes.empty());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const TopologyLink& link : topology.links()) {
    if (link.link_class != LinkClass::kGlobal) continue;
    pairs.emplace_back((link.a.node - 72) / 4, (link.b.node - 72) / 4);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> expected;
  for (std::uint32_t a = 0; a < 9; ++a)
    for (std::uint32_t b = a + 1; b < 9; ++b) expected.emplace_back(a, b);
  CHECK(pairs == expected);
}

TEST_CASE(
    "A small dragonfly has parallel global links, each at another router, and says the rest") {
  const Topology topology = topology_of(R"({"topology": "dragonfly", "dragonfly":
      {"groups": 3, "routers": 5, "nics_per_router": 1, "global_links": 1}})",
                                        15);
  Texts global;
  for (std::size_t i = 15 + 3 * 10; i < topology.links().size(); ++i)
    global.push_back(links_of(topology)[i]);
  CHECK(global == Texts{"router0_0.port5-router1_0.port5", "router0_1.port5-router2_0.port5",
                        "router0_2.port5-router1_2.port5", "router0_3.port5-router2_2.port5",
                        "router1_1.port5-router2_1.port5", "router1_3.port5-router2_3.port5"});
  CHECK(topology.notes == Texts{"of each group's 5 global links 1 stay unused: they do not suffice "
                                "for one more to every group"});
}

TEST_CASE("A dragonfly whose groups cannot all be reached is refused") {
  CHECK(error_of([] {
          topology_config(R"({"topology": "dragonfly", "dragonfly":
              {"groups": 6, "routers": 2, "nics_per_router": 1, "global_links": 2}})");
        }) ==
        "x.json:2: fabric.dragonfly.global_links: 2 routers with 2 each reach at most 4 other "
        "groups, there are 5");
}

TEST_CASE("explicit links have their own rate and length, and parallel ones are counted") {
  const Topology topology = topology_of(R"({"topology": "explicit", "explicit": {
      "switches": [{"name": "s0", "latency": "450 ns"}, {"name": "s1"}],
      "links": [{"from": "A", "to": "s0", "rate": "25 Gb/s"},
                {"from": "s0", "to": "s1", "count": 2, "length": "100 m", "one_way": true},
                {"from": "s1", "to": "B.nic1"},
                {"from": "B.nic0", "to": "s1"}]}})",
                                        Texts{"A.nic0", "B.nic0", "B.nic1"});
  CHECK(links_of(topology) == Texts{"A.nic0.port0-s0.port0", "s0.port1-s1.port0",
                                    "s0.port2-s1.port1", "s1.port2-B.nic1.port0",
                                    "B.nic0.port0-s1.port3"});
  CHECK(topology.links()[0].own.rate == BitRate::gbps(25));
  CHECK_FALSE(topology.links()[0].own.delay.has_value());
  CHECK(topology.links()[1].own.delay == 500_ns);
  CHECK(topology.links()[1].own.one_way);
  CHECK(topology.links()[1].link_class == LinkClass::kFabric);
  CHECK(topology.links()[3].link_class == LinkClass::kHost);
  CHECK(topology.node(3).latency == 450_ns);
  CHECK_FALSE(topology.node(4).latency.has_value());
}

TEST_CASE("A switch's tier in explicit lists is its distance from the NICs") {
  const Topology topology = topology_of(R"({"topology": "explicit", "explicit": {
      "switches": [{"name": "top"}, {"name": "left"}, {"name": "right"}],
      "links": [{"from": "A", "to": "left"}, {"from": "B", "to": "right"},
                {"from": "left", "to": "top"}, {"from": "top", "to": "right"}]}})",
                                        Texts{"A", "B"});
  CHECK(topology.node(node_of(topology, "top")).tier == 2);
  CHECK(topology.node(node_of(topology, "left")).tier == 1);
  CHECK(topology.node(node_of(topology, "right")).tier == 1);
}

TEST_CASE("Wrong explicit lists are refused with the place and the reason") {
  const auto error = [](const std::string& links, const Texts& end_points = {"A", "B"}) {
    return build_error(R"({"topology": "explicit", "explicit": {
        "switches": [{"name": "sw"}], "links": [)" +
                           links + "]}}",
                       end_points);
  };
  const std::string a = R"({"from": "A", "to": "sw"}, )";
  CHECK(error(a + R"({"from": "B", "to": "ws"})") ==
        "explicit.links.1.to: unknown switch or NIC \"ws\", did you mean \"sw\"?");
  CHECK(error(a + R"({"from": "A", "to": "B"})") ==
        "explicit.links.1.from: \"A\" is a NIC's port and takes one link only");
  CHECK(error(R"({"from": "A", "to": "sw", "count": 2})") ==
        "explicit.links.0.from: \"A\" is a NIC's port and takes one link only");
  CHECK(error(R"({"from": "A", "to": "sw", "one_way": true})") ==
        "explicit.links.0.from: \"A\" is a NIC, and \"one_way\" is for links between switches");
  CHECK(error(R"({"from": "sw", "to": "sw"})") == "explicit.links.0.to: is the same as \"from\"");
  CHECK(error(R"({"from": "A", "to": "sw"})") ==
        "explicit.links: \"B\" is a NIC of the scenario and has no link");
  CHECK(error(R"({"from": "A", "to": "sw"})", {"A.nic0", "A.nic1"}) ==
        "explicit.links.0.from: \"A\" has several NICs: say which, such as \"A.nic1\"");
  CHECK(error(R"({"from": "sw", "to": "sw"})", {"sw"}) ==
        "explicit.switches.0.name: \"sw\" is already the name of another node");
}

TEST_CASE("Keys of a topology that is not chosen are refused, and missing ones are asked for") {
  CHECK(error_of([] { topology_config(R"({"topology": "star", "fat_tree": {"k": 4}})"); }) ==
        "x.json:1: fabric.fat_tree: belongs to topology \"fat_tree\", and \"topology\" is "
        "\"star\"");
  CHECK(error_of([] { topology_config(R"({"topology": "leaf_spine"})"); }) ==
        "x.json:1: fabric.leaf_spine: missing; topology \"leaf_spine\" needs it");
  CHECK(error_of([] { topology_config(R"({"topology": "fat_tree", "fat_tree": {"k": 5}})"); }) ==
        "x.json:1: fabric.fat_tree.k: must be even");
}

TEST_CASE("Every topology's name is the one that files write") {
  for (const char* name : {"back_to_back", "star", "dumbbell", "parking_lot", "ring"}) {
    const TopologyConfig config = topology_config(std::string(R"({"topology": ")") + name + "\"}");
    CHECK(name_of(config.kind) == std::string(name));
  }
  CHECK(name_of(TopologyKind::kHtsim) == std::string("htsim"));
}

TEST_CASE("A topology's settings are printed as they are read") {
  TopologyConfig config =
      topology_config(R"({"topology": "leaf_spine", "leaf_spine": {"leaves": 4, "spines": 2}})");
  const JsonNode printed = dump_config(config);
  TopologyConfig again;
  read_config(printed, again);
  CHECK(again.kind == TopologyKind::kLeafSpine);
  CHECK(again.leaf_spine->leaves == 4);
  CHECK(again.leaf_spine->links_per_pair == 1);
  CHECK_FALSE(again.fat_tree.has_value());
}

TEST_CASE("A topology beyond the limits is an error, not a memory full of links") {
  CHECK(build_error(R"({"topology": "leaf_spine", "leaf_spine":
      {"leaves": 1024, "spines": 1024, "links_per_pair": 2}})",
                    2) == "topology: the topology has more than 1048576 links");
  CHECK(build_error(R"({"topology": "leaf_spine", "leaf_spine":
      {"leaves": 4096, "spines": 1, "nics_per_leaf": 4096}})",
                    2) ==
        "leaf_spine.nics_per_leaf: leaf_spine with 4096 leaves has places for 16777216 NICs, at "
        "most 1048576 are possible");
  CHECK(build_error(R"({"topology": "star"})", 65536) ==
        "topology: switch0 has more than 32768 ports");
}
