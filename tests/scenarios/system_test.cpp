// SPDX-License-Identifier: MIT
#include "scenarios/engine/system.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/pair_workload.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/probe_recorder.h"
#include "tests/support/two_servers.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// Two servers, 200 m of cable: 1 us.
Scenario two_servers() {
  Scenario scenario = test::two_servers();
  scenario.fabric.link.config.length = Length::m(200);
  return scenario;
}

abi::MacAddress mac(std::uint8_t last) { return {2, 0, 0, 0, 0, last}; }

void check_identity(const PortIdentity& port, std::uint8_t number) {
  const auto last = static_cast<std::uint8_t>(number + 1);
  CHECK(port.number == number);
  CHECK(port.mac == mac(last));
  CHECK(port.ip == abi::Ipv4Address(0x0a000000U + last));
}

/// A system in which A writes one message of 1,000 B to B.
struct Written {
  Written() {
    system.attach(&probes);
    workload.emplace(system, scenario.workload[0], scenario, 0, 0, nullptr, nullptr);
  }
  static Scenario one_write() {
    Scenario scenario = two_servers();
    scenario.workload.resize(1);
    scenario.workload[0].name = "write";
    scenario.workload[0].from = "A";
    scenario.workload[0].to = "B";
    scenario.workload[0].size = Bytes(1000);
    return scenario;
  }
  /// Those of one block; REQUIRES that there are some.
  std::vector<ProbeRecord> of(ProbeKind kind, std::uint32_t component) const {
    std::vector<ProbeRecord> found;
    for (const ProbeRecord& r : probes.of(kind))
      if (r.component == component) found.push_back(r);
    REQUIRE_FALSE(found.empty());
    return found;
  }

  Scenario scenario = one_write();
  test::ProbeRecorder probes;
  System system{"system", scenario};
  std::optional<PairWorkload> workload;
};

}  // namespace

TEST_CASE("each server has the names, numbers and addresses of its place in the scenario") {
  System system("system", two_servers());
  REQUIRE(system.servers().size() == 2);
  for (std::uint8_t i = 0; i < 2; ++i) {
    System::Server& server = system.servers()[i];
    CHECK(server.name == (i == 0 ? "A" : "B"));
    CHECK(&system.server(server.name) == &server);
    REQUIRE(server.nics.size() == 1);
    REQUIRE(server.ports.size() == 1);
    check_identity(server.ports[0], i);
    CHECK(server.host->driver(0).nic() == i);
    CHECK(std::string(server.host->name()) == "system." + server.name);
    CHECK(std::string(server.nics[0]->name()) == "system." + server.name + "_nic0");
  }
}

TEST_CASE("NICs are numbered across servers") {
  Scenario scenario = two_servers();
  scenario.hosts[0].nics.resize(2);
  scenario.fabric.topology.kind = TopologyKind::kStar;
  System system("system", scenario);
  REQUIRE(system.server("A").nics.size() == 2);
  check_identity(system.server("A").ports[0], 0);
  check_identity(system.server("A").ports[1], 1);
  check_identity(system.server("B").ports[0], 2);
  CHECK(system.server("A").host->driver(1).nic() == 1);
  CHECK(system.server("B").host->driver(0).nic() == 2);
}

TEST_CASE("a system that nobody uses is idle, lacks nothing and has nothing to do") {
  System system("system", two_servers());
  CHECK(system.idle());
  CHECK(system.scheduler().run_until(1_ms) == Scheduler::End::kIdle);
  CHECK(system.scheduler().now() == Time());
  CHECK(system.idle());
  CHECK(system.conservation_faults().empty());
  CHECK(system.packet_hops() == 0);
}

TEST_CASE("stores and loads of each host reach the registers of its own NIC") {
  System system("system", two_servers());
  struct Loaded {
    System& system;
    std::uint8_t value[8] = {};
    Time at;
    void note() { at = system.scheduler().now(); }
  };
  Loaded loaded[] = {{system, {}, {}}, {system, {}, {}}};
  for (std::uint8_t i = 0; i < 2; ++i) {
    const std::uint8_t address[8] = {0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(0x10 + i), 0};
    MmioBridge& mmio = system.servers()[i].host->pcie(0).mmio();
    mmio.mmio_write(1_us, abi::kCommandQueueAddress, address, 8);
    mmio.mmio_read(2_us + 1_us * i, abi::kCommandQueueAddress, loaded[i].value, 8,
                   call<&Loaded::note>(&loaded[i]));
  }
  CHECK_FALSE(system.idle());
  system.scheduler().run_until(1_ms);
  CHECK(system.idle());
  // A request of 24 B down, a completion of 28 B up, 150 ns each way.
  const ByteTime byte(PcieConfig().rate());
  const Time there_and_back = 300_ns + byte.of(24_B) + byte.of(28_B);
  for (std::uint8_t i = 0; i < 2; ++i) {
    CHECK(loaded[i].value[6] == 0x10 + i);
    CHECK((loaded[i].at - 2_us - 1_us * i).ps() == there_and_back.ps());
  }
}

TEST_CASE("packets of A arrive at B one cable later, and those of B at A, to the picosecond") {
  Written w;
  CHECK(w.system.scheduler().run_until(100_ms) == Scheduler::End::kIdle);
  REQUIRE(w.workload->finished());
  // One WRITE of one packet and its ACK.
  for (const std::uint32_t from : {1U, 3U}) {
    const auto sent = w.of(ProbeKind::kPacketSent, from);
    const auto received = w.of(ProbeKind::kPacketReceived, 4 - from);
    REQUIRE(sent.size() == 1);
    REQUIRE(received.size() == 1);
    CHECK(received[0].time - sent[0].time == 1_us);
    CHECK(received[0].a - sent[0].a == 1'000'000);
    CHECK(received[0].packet == sent[0].packet);
    CHECK(sent[0].packet == packet_id(from / 2, 1));
    CHECK(received[0].b == sent[0].b);
  }
  // 14 B Ethernet, 20 IPv4, 8 UDP, 12 BTH, 16 RETH, 1000 payload, 4 ICRC, 4 FCS; an ACK has 4 B.
  CHECK(w.of(ProbeKind::kPacketSent, 1)[0].b == 1078);
  CHECK(w.of(ProbeKind::kPacketSent, 3)[0].b == 66);
  CHECK(w.system.packet_hops() == 2);
  CHECK(w.system.idle());
  CHECK(w.system.conservation_faults().empty());
  std::vector<Violation> violations;
  w.workload->verify(violations);
  CHECK(violations.empty());
}

TEST_CASE("every probe says which host or NIC it belongs to") {
  Written w;
  w.system.scheduler().run_until(100_ms);
  CHECK(w.of(ProbeKind::kRegisterPin, 1).size() == 1);
  CHECK(w.of(ProbeKind::kRegisterPin, 3).size() == 1);
  CHECK(w.of(ProbeKind::kDoorbellArrived, 1).size() ==
        w.probes.of(ProbeKind::kDoorbellArrived).size());
  CHECK(w.of(ProbeKind::kAckSent, 3).size() == w.probes.of(ProbeKind::kAckSent).size());
  CHECK(w.of(ProbeKind::kAckReceived, 1).size() == w.probes.of(ProbeKind::kAckReceived).size());
  CHECK(w.of(ProbeKind::kPayloadLanded, 3).size() == w.probes.of(ProbeKind::kPayloadLanded).size());
  for (const ProbeRecord& r : w.probes.records) CHECK(r.component < w.system.components().size());
}

TEST_CASE("a packet on the cable keeps the system from being idle and is not missing") {
  Written w;
  while (w.probes.of(ProbeKind::kPacketSent).empty())
    w.system.scheduler().run_until(w.system.scheduler().now() + 100_ns);
  CHECK(w.probes.of(ProbeKind::kPacketReceived).empty());
  CHECK_FALSE(w.system.idle());
  CHECK(w.system.packet_hops() == 0);
  CHECK(w.system.conservation_faults().empty());
  w.system.scheduler().run_until(100_ms);
  CHECK(w.system.idle());
}

TEST_CASE("bytes that a NIC received and no cable carried are missed by conservation") {
  System system("system", two_servers());
  PacketPool pool;
  const auto receive = [&](const char* name) {
    PacketRef packet = pool.create();
    packet->bth.opcode = Opcode::kAcknowledge;
    packet->bth.dest_qp = Qpn(9);
    system.server(name).nics[0]->port().receive(std::move(packet));
  };
  const std::string at_b = "fabric.link0.forward at its receiver: 0 B entered, 66 B left";
  const std::string at_a = "fabric.link0.backward at its receiver: 0 B entered, 66 B left";
  receive("B");
  CHECK(system.conservation_faults() == std::vector<std::string>{at_b});
  receive("A");
  CHECK(system.conservation_faults() == std::vector<std::string>{at_b, at_a});
}

TEST_CASE("metrics stand under the host, its NIC and the link's direction, each once") {
  Written w;
  w.system.scheduler().run_until(100_ms);
  test::MetricRecorder metrics;
  w.system.report(metrics);
  CHECK(metrics.values.at("fabric.link0.forward.bytes") == 1078);
  CHECK(metrics.values.at("fabric.link0.backward.bytes") == 66);
  CHECK(metrics.values.at("host.A.nic0.port.tx_bytes") == 1078);
  CHECK(metrics.values.at("host.B.nic0.port.tx_bytes") == 66);
  CHECK(metrics.values.at("host.A.nic0.pcie.read.payload") == 1000);
  CHECK(metrics.values.at("host.B.nic0.pcie.written.payload") == 1000);
  CHECK(metrics.values.at("host.A.nic0.pcie.written.payload") == 0);
}

TEST_CASE("a PCIe link that was trained down is noted, one that was not is not") {
  Scenario scenario = two_servers();
  CHECK(System("whole", scenario).notes().empty());
  scenario.hosts[1].config.pcie.trained = PcieTraining{2, 4};
  const std::vector<std::string> notes = System("down", scenario).notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "host.B: the PCIe link of its NICs runs at Gen2 x4, below its Gen3 x8");
}

TEST_CASE("a GPU takes what a NIC writes to it, and the host's count knows") {
  Scenario scenario = two_servers();
  scenario.hosts[1].config.gpus.resize(1);
  scenario.workload.resize(1);
  WorkloadSpec& spec = scenario.workload[0];
  spec.name = "write";
  spec.from = "A";
  spec.to = "B";
  spec.size = Bytes(1000);
  spec.to_memory = "gpu0";
  System system("gpu", scenario);
  PairWorkload workload(system, spec, scenario, 0, 0, nullptr, nullptr);
  system.scheduler().run_until(1_ms);
  CHECK(workload.finished());
  std::vector<Violation> violations;
  workload.verify(violations);
  CHECK(violations.empty());
  Host& host = *system.server("B").host;
  CHECK(host.memory().written(DmaPurpose::kPayload) == Bytes(0));
  CHECK(host.gpu(0).written(DmaPurpose::kPayload) == Bytes(1000));
  CHECK(host.written(DmaPurpose::kPayload) == Bytes(1000));
}
