// SPDX-License-Identifier: MIT
#include "fabric/htsim_topology.h"

#include <catch2/catch.hpp>

#include "tests/fabric/topology_kit.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::testing;

namespace {

using Texts = std::vector<std::string>;
using Counts = std::vector<std::uint32_t>;

const char* const kLeafSpine =
    "# four hosts\n"
    "Nodes 4\nTiers 2\nPodsize 4\n"
    "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n"
    "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 600\n"
    "Switch_Latency_ns 300\n";

const char* const kThreeTiers =
    "nodes 12\ntiers 3\npodsize 4\n\n"
    "tier 0\ndownlink_speed_gbps 50\nradix_down 2\nradix_up 2\ndownlink_latency_ns 100\n"
    "oversubscribed 1\n"
    "tier 1\ndownlink_speed_gbps 50\nradix_down 2\nradix_up 2\ndownlink_latency_ns 200\n"
    "oversubscribed 1\nswitch_latency_ns 0\nqueue_up 100000\n"
    "tier 2\ndownlink_speed_gbps 50\nradix_down 6\nbundle 2\ndownlink_latency_ns 300\n";

HtsimTopology read(const std::string& text) { return read_htsim_topology(text, "t.topo"); }

/// The error of `text` with `from` replaced.
std::string error_with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return error_of([&] { read(text); });
}

}  // namespace

TEST_CASE("A file of htsim with two tiers is a leaf-spine with rates and latencies") {
  const Topology topology = build_htsim(read(kLeafSpine), nics(4));
  CHECK(links_of(topology) == Texts{"h0.port0-leaf0.port0", "h1.port0-leaf0.port1",
                                    "h2.port0-leaf1.port0", "h3.port0-leaf1.port1",
                                    "leaf0.port2-spine0.port0", "leaf0.port3-spine1.port0",
                                    "leaf1.port2-spine0.port1", "leaf1.port3-spine1.port1"});
  CHECK(topology.links()[0].own.rate == BitRate::gbps(100));
  CHECK(topology.links()[0].own.delay == 1_us);
  CHECK(topology.links()[4].own.delay == 600_ns);
  CHECK_FALSE(topology.node(node_of(topology, "leaf0")).latency.has_value());
  CHECK(topology.node(node_of(topology, "spine0")).latency == 300_ns);
  CHECK(topology.notes.empty());
}

TEST_CASE("A file of htsim with three tiers is a fat tree with bundles, keys in any case") {
  const HtsimTopology source = read(kThreeTiers);
  CHECK(source.tiers[1].queue_up == 100000_B);
  const Topology topology = build_htsim(source, nics(12));
  CHECK(degrees(topology) == Counts{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6});
  const Texts links = links_of(topology);
  REQUIRE(links.size() == 12 + 12 + 12);
  CHECK(links[12] == "edge0_0.port2-aggregation0_0.port0");
  CHECK(links[24] == "aggregation0_0.port2-core0.port0");
  CHECK(links[25] == "aggregation0_0.port3-core0.port1");
  CHECK(links[26] == "aggregation0_1.port2-core1.port0");
  CHECK(topology.links()[24].own.delay == 300_ns);
  CHECK(topology.links()[24].own.rate == BitRate::gbps(50));
  CHECK(topology.notes == Texts{"queue sizes of t.topo are left out: switches share their buffer"});
}

TEST_CASE("An oversubscribed leaf has the ratio that its radix and the speeds give") {
  const std::string text =
      "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n"
      "Radix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\nOversubscribed 4\nTier 1\n"
      "Downlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";
  const Topology topology = build_htsim(read(text), nics(32));
  CHECK(degrees(topology) == Counts{10, 10, 10, 10, 4, 4});
  CHECK(error_with(text, "Oversubscribed 4", "Oversubscribed 2") ==
        "t.topo:4: Tier 0: Radix_Down 8 and Radix_Up 2 do not give Oversubscribed 2 at the tiers' "
        "speeds");
}

TEST_CASE("Hosts of an htsim file beyond the scenario's stay empty, fewer are refused") {
  CHECK(build_htsim(read(kLeafSpine), nics(3)).notes ==
        Texts{"1 of 4 places for NICs stay empty: 1 at leaf1"});
  CHECK(error_of([] { build_htsim(read(kLeafSpine), nics(5)); }) ==
        "htsim.file: t.topo has places for 4 NICs, the scenario has 5");
}

TEST_CASE("Numbers of an htsim file that do not fit one another are errors that say both") {
  CHECK(error_with(kLeafSpine, "Nodes 4", "Nodes 6") ==
        "t.topo:5: Tier 0: Nodes 6 is no multiple of Podsize 4");
  CHECK(error_with(kLeafSpine, "Nodes 4", "Nodes 8") ==
        "t.topo:5: Tier 0: Nodes 8 and Podsize 4 make several pods, which two tiers do not "
        "connect");
  CHECK(error_with(kLeafSpine, "Radix_Down 2", "Radix_Down 3") ==
        "t.topo:5: Tier 0: Podsize 4 is no multiple of Radix_Down 3");
  CHECK(error_with(kThreeTiers, "radix_down 2\nradix_up 2\ndownlink_latency_ns 200",
                   "radix_down 4\nradix_up 4\ndownlink_latency_ns 200") ==
        "t.topo:11: Tier 1: Radix_Down 4, but 2 switches below with a Bundle 1 need 2");
  CHECK(error_with(kThreeTiers, "radix_down 6", "radix_down 4") ==
        "t.topo:19: Tier 2: Radix_Down 4, but 3 pods with a Bundle 2 need 6");
  CHECK(error_with(kThreeTiers, "bundle 2", "bundle 4") ==
        "t.topo:19: Tier 2: Radix_Down 6 is no multiple of Bundle 4");
  CHECK(error_with(kThreeTiers, "bundle 2", "bundle 3") ==
        "t.topo:19: Tier 2: Radix_Up 2 of the tier below is no multiple of Bundle 3");
  CHECK(error_with(kLeafSpine, "Radix_Up 2", "Radix_Up 2\nBundle 2") ==
        "t.topo:5: Tier 0: Bundle must be 1: a host has one link");
  CHECK(error_with(kLeafSpine, "Tiers 2", "Tiers 3") ==
        "t.topo:14: Tiers says 3, there is no Tier 2");
}

TEST_CASE("What an htsim file lacks, repeats or misspells is an error with its line") {
  CHECK(error_with(kLeafSpine, "Radix_Up 2\n", "") == "t.topo:5: Tier 0: Radix_Up is missing");
  CHECK(error_with(kLeafSpine, "Downlink_speed_Gbps 100\n", "") ==
        "t.topo:5: Tier 0: Downlink_speed_Gbps is missing");
  CHECK(error_with(kLeafSpine, "Podsize 4\n", "") ==
        "t.topo:4: expected Podsize before the first tier, found Tier");
  CHECK(error_with(kLeafSpine, "Podsize 4", "Podsize 4\nNodes 4") ==
        "t.topo:5: \"nodes\" is given twice");
  CHECK(error_with(kLeafSpine, "Tier 1", "Tier 0") == "t.topo:10: Tier 0 is given twice");
  CHECK(error_with(kLeafSpine, "Tier 1", "Tier 2") ==
        "t.topo:10: expected the number of a tier, a whole number up to 1, found \"2\"");
  CHECK(error_with(kLeafSpine, "Tiers 2", "Tiers 1") ==
        "t.topo:3: expected 2 or 3 tiers, found \"1\"");
  CHECK(error_with(kLeafSpine, "Switch_Latency_ns", "Switch_Latancy_ns") ==
        "t.topo:14: unknown key \"Switch_Latancy_ns\"; known here: tier, downlink_speed_gbps, "
        "radix_down, radix_up, downlink_latency_ns, oversubscribed, switch_latency_ns, bundle, "
        "queue_down or queue_up, did you mean \"switch_latency_ns\"?");
  CHECK(error_with(kLeafSpine, "Switch_Latency_ns 300", "Radix_Up 2") ==
        "t.topo:14: \"radix_up\" has no place in the top tier: nothing is above it");
  CHECK(error_with(kLeafSpine, "Radix_Up 2", "Radix_Up two") ==
        "t.topo:8: expected Radix_Up, a whole number up to 4096, found \"two\"");
  CHECK(error_with(kLeafSpine, "Radix_Up 2", "Radix_Up 0") ==
        "t.topo:8: expected a number above 0, found \"0\"");
  CHECK(error_with(kLeafSpine, "Radix_Up 2", "Radix_Up") ==
        "t.topo:8: expected a key and a value, found 1 words");
  CHECK(error_with(kLeafSpine, "Downlink_Latency_ns 1000", "Downlink_Latency_ns -1") ==
        "t.topo:9: expected a latency in ns, at most 1 s, found \"-1\"");
  CHECK(error_of([] { read("# nothing\n"); }) ==
        "t.topo:1: expected Nodes, Tiers, Podsize and the tiers, found none");
}

TEST_CASE("An htsim file is built from a scenario's setting") {
  const Topology topology =
      topology_of(R"({"topology": "htsim", "htsim": {"file": "leaf_spine.topo"}})", nics(4),
                  "tests/fuzz/corpus/htsim_topology");
  CHECK(degrees(topology) == Counts{4, 4, 2, 2});
}
