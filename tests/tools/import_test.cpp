// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tools/import/listing.h"

using namespace rnicsim;

namespace {

using Json = Machine::Json;

std::string sample(const std::string& name) {
  std::ifstream in("tests/fuzz/corpus/listing/" + name);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Machine machine_of(const std::string& text, const ListingChoice& choice = {}) {
  Machine machine;
  read_listing(text, "x.txt", choice, machine);
  return machine;
}

std::string failure(const std::string& text, const ListingChoice& choice = {}) {
  try {
    machine_of(text, choice);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

Json host(const Machine& machine, const std::string& path) {
  return machine.value(PresetKind::kHost, path);
}

bool remarks_have(const Machine& machine, const std::string& words) {
  const std::vector<std::string> remarks = machine.remarks();
  return std::any_of(remarks.begin(), remarks.end(), [&](const std::string& remark) {
    return remark.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("lspci tells what the NIC's link can do and what it has come to") {
  const Machine machine = machine_of(sample("lspci.txt"));
  CHECK(host(machine, "pcie.generation") == 3);
  CHECK(host(machine, "pcie.lanes") == 16);
  CHECK(host(machine, "pcie.trained.generation") == 3);
  CHECK(host(machine, "pcie.trained.lanes") == 8);
  CHECK(host(machine, "pcie.max_payload") == "256 B");
  CHECK(host(machine, "pcie.max_read_request") == "1024 B");
  CHECK(host(machine, "pcie.read_completion_boundary") == "64 B");
  CHECK(host(machine, "pcie.tag_bits") == 8);
  CHECK(machine.value(PresetKind::kNic, "pcie.relaxed_ordering") == true);
  CHECK(remarks_have(machine, "x.txt:21: the NIC 5e:00.0 is at NUMA node 0"));
  CHECK(remarks_have(machine, "the bridge 3a:00.0 redirects peer-to-peer requests (ACS)"));
  CHECK(remarks_have(machine, "not learned: link rate; default 100 Gb/s"));
  CHECK_FALSE(remarks_have(machine, "not learned: host pcie.lanes"));
}

TEST_CASE("a link that has come to all it can do is not said to be trained down") {
  const Machine machine =
      machine_of(replaced(sample("lspci.txt"), "Width x8 (downgraded)", "Width x16 (ok)"));
  CHECK_FALSE(machine.knows(PresetKind::kHost, "pcie.trained.lanes"));
}

TEST_CASE("10-bit tags have the last word, 5-bit tags the first") {
  const std::string text = sample("lspci.txt");
  CHECK(host(machine_of(replaced(text, "LTR- 10BitTagReq- OBFF", "LTR- 10BitTagReq+ OBFF")),
             "pcie.tag_bits") == 10);
  CHECK(host(machine_of(replaced(text, "RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-",
                                 "RlxdOrd- ExtTag- PhantFunc- AuxPwr- NoSnoop+ FLReset-")),
             "pcie.tag_bits") == 5);
}

TEST_CASE("lspci of an ordinary user is refused with what to do") {
  CHECK(failure("5e:00.0 Ethernet controller: Mellanox\n\tCapabilities: <access denied>\n") ==
        "x.txt:2: expected \"LnkCap:\" of 5e:00.0, as lspci -vv prints it for root, found "
        "Capabilities: <access denied>");
  CHECK(failure("5e:00.0 Ethernet controller: Mellanox\n").find("x.txt:1: expected \"LnkCap:\"") ==
        0);
  CHECK(failure(sample("lspci.txt"), {"99:00.0", ""}).find("expected the device 99:00.0") !=
        std::string::npos);
  CHECK(failure(
            replaced(sample("lspci.txt"), "Speed 8GT/s (ok), Width x8", "Speed unknown, Width x8"))
            .find("x.txt:34: expected \"Speed 8GT/s, Width x16\" or the like, found LnkSta:") == 0);
  CHECK(failure(replaced(sample("lspci.txt"), "MaxReadReq 1024", "MaxReadReq 1000"))
            .find("x.txt:28: expected \"MaxReadReq 256 bytes\" or the like") == 0);
}

TEST_CASE("ibv_devinfo tells numbers of objects and the rate of the port") {
  const Machine machine = machine_of(sample("ibv_devinfo.txt"));
  CHECK(host(machine, "driver.log_qps") == 17);
  CHECK(host(machine, "driver.log_cqs") == 24);
  CHECK(host(machine, "driver.log_keys") == 24);
  CHECK(host(machine, "driver.log_srqs") == 23);
  CHECK(machine.value(PresetKind::kLink, "rate") == "100 Gb/s");
  CHECK(remarks_have(machine, "x.txt:20: a workload's path_mtu is 1024"));
  CHECK(remarks_have(machine, "a workload's max_rd_atomic can be at most 16"));
  CHECK(
      failure(replaced(sample("ibv_devinfo.txt"), "25.0 Gbps", "fast")) ==
      "x.txt:25: expected \"25.0 Gbps (32)\" or the like, found active_speed:\\x09\\x09fast (32)");
  CHECK(failure(sample("ibv_devinfo.txt"), {"", "mlx5_9"}).find("\"hca_id: mlx5_9\"") !=
        std::string::npos);
}

TEST_CASE("an HCA without shared receive queues keeps the default, with a remark") {
  const Machine machine = machine_of(
      "hca_id:\tefa_0\n\tmax_qp:\t\t\t256\n\tmax_srq:\t\t\t0\n\tmax_mr:\t\t\t99999999999\n");
  CHECK(host(machine, "driver.log_qps") == 8);
  CHECK(host(machine, "driver.log_keys") == 24);
  CHECK(remarks_have(machine, "x.txt:3: too few for a table, the default stays: 0"));
  CHECK(remarks_have(machine, "x.txt:4: more than the 2^24 entries"));
  CHECK(failure("hca_id:\tmlx5_0\n\tmax_qp: 262144 and more\n") ==
        "x.txt:2: expected a whole number, found max_qp: 262144 and more");
}

TEST_CASE("numbers in NCCL's topology are whole ones") {
  const std::string text = sample("nccl_topology.xml");
  CHECK(failure(replaced(text, "link_width=\"16\"", "link_width=\"16lanes\"")).find("link_width") !=
        std::string::npos);
}

TEST_CASE("nvidia-smi's header may be underlined") {
  const std::string text = sample("nvidia_topo.txt");
  const std::size_t header = text.find("GPU0");
  const std::size_t end = text.find('\n', header);
  const std::string underlined = text.substr(0, header) + "\x1b[4m" +
                                 text.substr(header, end - header) + "\x1b[0m" + text.substr(end);
  CHECK(machine_of(underlined).value(PresetKind::kHost, "gpus") ==
        machine_of(text).value(PresetKind::kHost, "gpus"));
}

TEST_CASE("lspci -nn is read as lspci is") {
  std::string text = sample("lspci.txt");
  for (std::size_t at = 0; (at = text.find(" controller: ", at)) != std::string::npos;)
    text.replace(at, 13, " controller [0200]: ");
  CHECK(host(machine_of(text), "pcie.lanes") == 16);
}

TEST_CASE("NCCL's topology tells the slot, the switch above it and the GPUs beside it") {
  const Machine machine = machine_of(sample("nccl_topology.xml"));
  CHECK(host(machine, "pcie.generation") == 3);
  CHECK(host(machine, "pcie.lanes") == 8);
  CHECK(host(machine, "pcie_switch.generation") == 3);
  CHECK(host(machine, "pcie_switch.lanes") == 16);
  CHECK(host(machine, "pcie_switch.devices") == Json{"nic0", "gpu0"});
  CHECK(host(machine, "gpus").size() == 1);
  CHECK(machine.value(PresetKind::kLink, "rate") == "100 Gb/s");
  CHECK(failure("<system><cpu></cpu>").find("x.txt:1: expected XML, found ") == 0);
  CHECK(failure("<graph/>") == "x.txt:1: expected <system>, found <graph>");
  CHECK(failure("<system>\n<cpu/></system>") ==
        "x.txt:1: expected a <net> somewhere in it, found none");
  CHECK(failure(replaced(sample("nccl_topology.xml"), "speed=\"100000\"", "speed=\"-1\""))
            .find("x.txt:11: expected speed=\"100000\" or the like (Mb/s), found \"") == 0);
}

TEST_CASE("nvidia-smi tells which GPUs stand under the NIC's switch") {
  const Machine first = machine_of(sample("nvidia_topo.txt"));
  CHECK(host(first, "pcie_switch.devices") == Json{"nic0", "gpu0", "gpu1"});
  CHECK(remarks_have(first, "GPU2 (SYS) is on no PCIe switch with the NIC"));
  const Machine second = machine_of(sample("nvidia_topo.txt"), {"", "mlx5_1"});
  CHECK(host(second, "gpus").size() == 1);
  CHECK(failure(replaced(sample("nvidia_topo.txt"), "NIC0\tPIX", "NIC0\tNEAR")) ==
        "x.txt:5: expected PIX, PXB, PHB, NODE or SYS for GPU0, found \"NEAR\"");
}

TEST_CASE("what lspci says a link could be stays when NCCL says what it runs at") {
  Machine machine;
  read_listing(sample("lspci.txt"), "a.txt", {}, machine);
  read_listing(sample("nccl_topology.xml"), "b.xml", {}, machine);
  CHECK(host(machine, "pcie.lanes") == 16);
  CHECK(host(machine, "pcie.trained.lanes") == 8);
  CHECK_FALSE(remarks_have(machine, "would be"));
}

TEST_CASE("listings that disagree leave a note, and the first is believed") {
  Machine machine;
  read_listing(sample("ibv_devinfo.txt"), "a.txt", {}, machine);
  read_listing(replaced(sample("nccl_topology.xml"), "\"100000\"", "\"25000\""), "b.xml", {},
               machine);
  CHECK(machine.value(PresetKind::kLink, "rate") == "100 Gb/s");
  CHECK(
      remarks_have(machine, "b.xml:11: rate would be \"25 Gb/s\"; kept \"100 Gb/s\" of a.txt:25"));
}

TEST_CASE("a preset says of each value in which line it was read") {
  const Machine machine = machine_of(sample("lspci.txt"));
  const Json preset = machine.preset(PresetKind::kHost, "t");
  CHECK(preset["values"]["pcie"]["trained"]["lanes"] == 8);
  CHECK(preset["sources"]["pcie.trained.lanes"] ==
        "x.txt:34: LnkSta:\tSpeed 8GT/s (ok), Width x8 (downgraded)");
}

TEST_CASE("a text of none of the tools is refused") {
  CHECK(failure("hello") ==
        "x.txt:1: expected what lspci -vv, ibv_devinfo -v, nvidia-smi topo -m or NCCL's topology "
        "dump print, found something else");
  CHECK(failure("").find("x.txt:1: expected what lspci") == 0);
}
