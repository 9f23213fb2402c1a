// SPDX-License-Identifier: MIT
#include "fabric/hpcc_topology.h"

#include <catch2/catch.hpp>

#include "tests/fabric/topology_kit.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::testing;

namespace {

using Texts = std::vector<std::string>;
using Ids = std::vector<std::uint32_t>;

const char* const kTwoSwitches =
    "6 2 5\n"
    "0 3\n"
    "1 0 25Gbps 0.001ms 0\n"
    "0 2 25Gbps 1us 0\n"
    "0 3 100Gbps 1000ns 0.01\n"
    "3 4 25Gbps 1us 0\n"
    "5 3 25Gbps 1us 0\n";

HpccTopology read(const std::string& text) { return read_hpcc_topology(text, "t.txt"); }
std::string read_error(const std::string& text) {
  return error_of([&] { read(text); });
}

}  // namespace

TEST_CASE("A file of HPCC gives hosts by id, ports by appearance, rates and delays") {
  const HpccTopology source = read(kTwoSwitches);
  CHECK(source.nic_hosts() == Ids{1, 2, 4, 5});
  CHECK(source.switches == Ids{0, 3});
  const Topology topology = build_hpcc(source, nics(4));
  CHECK(links_of(topology) == Texts{"h0.port0-switch0.port0", "switch0.port1-h1.port0",
                                    "switch0.port2-switch3.port0", "switch3.port1-h2.port0",
                                    "h3.port0-switch3.port2"});
  CHECK(topology.links()[0].own.rate == BitRate::gbps(25));
  CHECK(topology.links()[0].own.delay == 1_us);
  CHECK(topology.links()[0].own.loss == 0.0);
  CHECK(topology.links()[0].link_class == LinkClass::kHost);
  CHECK(topology.links()[2].own.rate == BitRate::gbps(100));
  CHECK(topology.links()[2].own.loss == 0.01);
  CHECK(topology.links()[2].link_class == LinkClass::kFabric);
  CHECK(topology.node(node_of(topology, "switch3")).tier == 1);
  CHECK(topology.notes.empty());
}

TEST_CASE("Prose behind the links and carriage returns are no part of the file") {
  const HpccTopology source = read(
      "3 1 2\r\n0\r\n0 1 10Gbps 1us 0\r\n\r\n0 2 10Gbps 1us 0\r\n"
      "First line: total node #, switch node #, link #\r\nsrc0 dst0 rate delay error_rate");
  CHECK(source.links.size() == 2);
}

TEST_CASE("A file of ns3-datacenter has four counts and bare rates") {
  const HpccTopology source = read(
      "4 2 1 3\n2 3\n0 2 25000000000.0 1us 0.000000\n"
      "1 2 25000000000.0 0.0000015 0\n2 3 12.5Gbps 500ns 0");
  CHECK(source.tors == 1);
  CHECK(source.links[0].rate == BitRate::gbps(25));
  CHECK(source.links[1].delay == Time::ns(1500));
  CHECK(source.links[2].rate == BitRate(12500000000));
  const Topology topology = build_hpcc(source, nics(2));
  CHECK(topology.node(node_of(topology, "switch2")).tier == 1);
  CHECK(topology.node(node_of(topology, "switch3")).tier == 2);
}

TEST_CASE("A file of SimAI is taken without its NVSwitches, and says so") {
  const HpccTopology source = read(
      "5 2 1 2 5 H100\n2 3 4\n0 2 2880Gbps 0.000025ms 0\n"
      "1 2 2880Gbps 0.000025ms 0\n0 3 400Gbps 0.0005ms 0\n"
      "1 4 400Gbps 0.0005ms 0\n3 4 400Gbps 0.0005ms 0\n");
  CHECK(source.gpus_per_server == 2);
  CHECK(source.gpu_type == "H100");
  CHECK(source.switches == Ids{3, 4});
  const Topology topology = build_hpcc(source, nics(2));
  CHECK(links_of(topology) ==
        Texts{"h0.port0-switch3.port0", "h1.port0-switch4.port0", "switch3.port1-switch4.port1"});
  CHECK(topology.notes ==
        Texts{"2 links to NVSwitches of t.txt are left out: they are no Ethernet"});
}

TEST_CASE("A host with two links has two NIC ports") {
  const HpccTopology source =
      read("4 2 4\n2 3\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n0 3 1Gbps 1us 0\n");
  CHECK(source.nic_hosts() == Ids{0, 0, 1, 1});
  const Topology topology = build_hpcc(source, Texts{"A.nic0", "A.nic1", "B.nic0", "B.nic1"});
  CHECK(links_of(topology) == Texts{"A.nic0.port0-switch2.port0", "B.nic0.port0-switch2.port1",
                                    "B.nic1.port0-switch3.port0", "A.nic1.port0-switch3.port1"});
}

TEST_CASE("Hosts of the file beyond the scenario's leave their ports empty, fewer are refused") {
  const Topology topology = build_hpcc(read(kTwoSwitches), nics(3));
  CHECK(topology.node(node_of(topology, "switch3")).links == Ids{2, 3, kNoLink});
  CHECK(topology.notes ==
        Texts{"1 of 4 NICs of t.txt are none of the scenario: their places stay empty"});
  CHECK(error_of([] { build_hpcc(read(kTwoSwitches), nics(5)); }) ==
        "hpcc.file: t.txt has places for 4 NICs, the scenario has 5");
}

TEST_CASE("A count that the body does not bear out is an error that says both") {
  CHECK(read_error("3 1 2\n0\n0 1 1Gbps 1us 0\n") ==
        "t.txt:3: line 1 says 2 links, the body has 1");
  CHECK(read_error("3 1 2\n0\n0 1 1Gbps 1us 0\nthat was all\n0 2 1Gbps 1us 0") ==
        "t.txt:4: line 1 says 2 links, the body has 1 before this line");
  CHECK(read_error("3 1 1\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n0 2 1Gbps 1us 0\n") ==
        "t.txt:5: line 1 says 1 links, the body has 3");
  CHECK(read_error("3 2 1\n0\n0 1 1Gbps 1us 0\n") ==
        "t.txt:2: expected 2 ids of switches, as line 1 says, found 1");
  CHECK(read_error("3 1 1\n0 1\n0 1 1Gbps 1us 0\n") ==
        "t.txt:2: expected 1 ids of switches, as line 1 says, found 2");
  CHECK(read_error("4 1 2 1\n0\n0 1 1Gbps 1us 0\n") ==
        "t.txt:1: expected at most as many ToR switches as switches, 1, found 2");
}

TEST_CASE("What cannot be read is an error with its line, what was expected and what was found") {
  CHECK(read_error("3 1\n").substr(0, 39) == "t.txt:1: expected a header of 3 numbers");
  CHECK(read_error("").find("found 0 words") != std::string::npos);
  CHECK(read_error("3 x 1\n") ==
        "t.txt:1: expected number of switches, a whole number up to 131072, found \"x\"");
  CHECK(read_error("3 1 1\n3\n") ==
        "t.txt:2: expected id of a switch, a whole number up to 2, found \"3\"");
  CHECK(read_error("3 2 1\n1 1\n") == "t.txt:2: switch 1 is named twice");
  const auto link_error = [](const std::string& link) {
    return read_error("2 1 1\n0\n" + link + "\n");
  };
  CHECK(link_error("0 1 1Gbps 1us") ==
        "t.txt:3: expected a link: src dst rate delay error_rate, found 4 words");
  CHECK(link_error("0 2 1Gbps 1us 0") ==
        "t.txt:3: expected id of a node, a whole number up to 1, found \"2\"");
  CHECK(link_error("0 0 1Gbps 1us 0") == "t.txt:3: a link from node 0 to itself");
  CHECK(link_error("0 1 1Gbqs 1us 0") ==
        "t.txt:3: expected a rate such as 100Gbps, found \"1Gbqs\"");
  CHECK(link_error("0 1 0Gbps 1us 0") ==
        "t.txt:3: expected a rate such as 100Gbps, found \"0Gbps\"");
  CHECK(link_error("0 1 1Gbps 2s 0") ==
        "t.txt:3: expected a delay such as 0.001ms, whole "
        "picoseconds, at most 1 s, found \"2s\"");
  CHECK(link_error("0 1 1Gbps 1us 1.5") ==
        "t.txt:3: expected an error rate from 0 to 1, found \"1.5\"");
}

TEST_CASE("A file without hosts, or with one that has no link, is refused") {
  CHECK(read_error("2 2 1\n0 1\n0 1 1Gbps 1us 0\n") ==
        "t.txt:1: all 2 nodes are switches: there is no host");
  CHECK(read_error("3 1 1\n0\n0 1 1Gbps 1us 0\n") == "t.txt:1: host 2 has no link");
  CHECK(read_error("0 0 1\n\n0 1 1Gbps 1us 0\n") ==
        "t.txt:3: the header says that there are no nodes");
}

TEST_CASE("Without switches, the links begin on line 2") {
  const Topology topology = build_hpcc(read("2 0 1\n0 1 1Gbps 1us 0\n"), nics(2));
  CHECK(links_of(topology) == Texts{"h0.port0-h1.port0"});
  CHECK(read("2 0 1\n\n0 1 1Gbps 1us 0\n").links.size() == 1);
}

TEST_CASE("A topology file that is not there is named") {
  const std::string json = R"({"topology": "hpcc", "hpcc": {"file": "nowhere.txt"}})";
  CHECK(error_of([&] { topology_of(json, nics(2), "folder"); }) ==
        "folder/nowhere.txt: cannot be read: No such file or directory");
}

TEST_CASE("A topology file is looked for in the scenario's folder") {
  const Topology topology = topology_of(R"({"topology": "hpcc", "hpcc": {"file": "hpcc.txt"}})",
                                        nics(4), "tests/fuzz/corpus/hpcc_topology");
  CHECK(topology.links().size() == 5);
  CHECK(error_of([] {
          topology_of(R"({"topology": "hpcc", "hpcc": {"file": "simai.txt"}})", nics(3),
                      "tests/fuzz/corpus/hpcc_topology");
        }) ==
        "hpcc.file: tests/fuzz/corpus/hpcc_topology/simai.txt has places for 2 NICs, the scenario "
        "has 3");
}
