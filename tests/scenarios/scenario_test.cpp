// SPDX-License-Identifier: MIT
// A scenario whole: hosts, fabric, fault rules, and what is written of it.
#include "scenarios/engine/scenario.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "model/config_output.h"
#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

TEST_CASE("the smallest scenario has two hosts and a workload; the rest is defaults") {
  const Scenario scenario = read(text_of(kHosts, kWorkload));
  REQUIRE(scenario.hosts.size() == 2);
  CHECK(scenario.hosts[1].name == "B");
  CHECK(scenario.hosts[0].nics.size() == 1);
  CHECK(scenario.stop_at == Time::s(1));
  CHECK(scenario.engine.run_ahead);
  CHECK(scenario.engine.payload == PayloadMode::kCarried);
  const WorkloadSpec& workload = scenario.workload.at(0);
  CHECK(workload.size == 64_KiB);
  CHECK(workload.count == 1);
  CHECK(workload.queue_depth == 128);
  CHECK(workload.path_mtu == 4_KiB);
  CHECK(workload.inline_up_to == 0_B);
  CHECK(workload.region_size() == 64_KiB);
  CHECK(scenario.timeline.work_requests == 1);
  CHECK(scenario.variant.empty());
}

TEST_CASE("hosts and workloads must fit together") {
  CHECK(failure(text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "C"}])")) ==
        "x.json:1: workload.0.to: unknown host \"C\", did you mean \"A\"?");
  CHECK(failure(text_of(kHosts, R"([{"name": "w0", "from": "gateway", "to": "B"}])")) ==
        "x.json:1: workload.0.from: unknown host \"gateway\"; known: A or B");
  CHECK(failure(text_of(kHosts, "[{\"name\": \"w0\", \"from\": \"A\",\n\"to\": \"A\"}]")) ==
        "x.json:2: workload.0.to: loopback is not supported: `from` and `to` are the same host");
  CHECK(failure(text_of(R"([{"name": "A"}, {"name": "A"}])", kWorkload)) ==
        "x.json:1: hosts.1.name: \"A\" is already the name of hosts.0");
  CHECK(failure(text_of(kHosts, R"([{"name": "w", "from": "A", "to": "B"},
                                    {"name": "w", "from": "A", "to": "B"}])")) ==
        "x.json:2: workload.1.name: \"w\" is already the name of workload.0");
  CHECK(failure(text_of(R"([{"name": "A"}])", kWorkload)) ==
        "x.json:1: fabric.topology: back_to_back needs 2 hosts with equally many NICs, found A");
  CHECK(failure(text_of(R"([{"name": "A"}, {"name": "B", "nics": [{}, {}]}])", kWorkload)) ==
        "x.json:1: fabric.topology: back_to_back needs 2 hosts with equally many NICs, found A, "
        "B.nic0, B.nic1");
  CHECK(failure(text_of(R"([{"name": "A", "nic": {}, "nics": [{}]}, {"name": "B"}])", kWorkload)) ==
        "x.json:1: hosts.0.nic: given together with \"nics\", of which it is short");
  CHECK(failure("{\"hosts\": []}").find("x.json:1: hosts: expected a list of 1 to 65536") == 0);
  CHECK(failure("{}") == "x.json:1: hosts: missing; it must be given (the servers)");
  CHECK(failure("[]") == "x.json:1: expected an object, found a list");
}

TEST_CASE("over InfiniBand nothing may be set that only Ethernet has") {
  const auto fabric_failure = [](const std::string& fabric, const std::string& hosts = kHosts) {
    return failure(
        text_of(hosts, kWorkload, R"(, "fabric": {"link_layer": "infiniband")" + fabric + "}"));
  };
  CHECK(fabric_failure("") == "no error");
  CHECK(fabric_failure(R"(, "infiniband": {"data_lanes": 2})") == "no error");
  CHECK(
      fabric_failure(R"(, "ip_version": "ipv6")") ==
      "x.json:1: fabric.ip_version: belongs to link_layer \"rocev2\": InfiniBand has no IP header");
  CHECK(fabric_failure(R"(, "switch": {"egress": {"pause": {"mode": "none"}}})") ==
        "x.json:1: fabric.switch.egress.pause: has no meaning over InfiniBand: its links have "
        "credits");
  CHECK(
      fabric_failure(R"(, "switch": {"egress": {"ecn": []}})") ==
      "x.json:1: fabric.switch.egress.ecn: has no meaning over InfiniBand: it has no IP header to "
      "mark");
  CHECK(fabric_failure(R"(, "switch": {"forwarding": "bridged"})") ==
        "x.json:1: fabric.switch.forwarding: has no meaning over InfiniBand: its switches forward "
        "by LID, each by one port");
  CHECK(fabric_failure(R"(, "switches": [{"name": "*", "path_choice": "spray"}])") ==
        "x.json:1: fabric.switches.0.path_choice: has no meaning over InfiniBand: its switches "
        "forward by LID, each by one port");
  CHECK(fabric_failure(R"(, "switch": {"buffer": {"alpha": 1}})") ==
        "x.json:1: fabric.switch.buffer.alpha: has no meaning over InfiniBand: every virtual lane "
        "of a port has a buffer of its own there");
  CHECK(fabric_failure(R"(, "switch": {"buffer": {"size": "8 MiB"}})") == "no error");
  CHECK(
      fabric_failure("", R"([{"name": "A", "nic": {"port": {"lossless": [1]}}}, {"name": "B"}])") ==
      "x.json:1: hosts.0.nic.port.lossless: has no meaning over InfiniBand: its links have "
      "credits");
  CHECK(fabric_failure(
            "", R"([{"name": "A"}, {"name": "B", "nics": [{"port": {"priorities": {}}}]}])") ==
        "x.json:1: hosts.1.nics.0.port.priorities: has no meaning over InfiniBand: priorities are "
        "virtual lanes there, chosen by service level");
  CHECK(
      fabric_failure(R"(, "switch": {"mac_table": {}})") ==
      "x.json:1: fabric.switch.mac_table: has no meaning over InfiniBand: its switches forward by "
      "LID, each by one port");
  const auto with_control = [&](const std::string& algorithm) {
    return fabric_failure("", R"([{"name": "A", "nic": {"congestion_control": {"algorithm": ")" +
                                  algorithm + R"("}}}, {"name": "B"}])");
  };
  CHECK(with_control("timely") == "no error");
  CHECK(with_control("dcqcn") ==
        "x.json:1: hosts.0.nic.congestion_control: cannot work over InfiniBand: it needs marks in "
        "the IP header");
  CHECK(fabric_failure(R"(, "infiniband": {"lane_buffer": "4 KiB"})") ==
        "x.json:1: fabric.infiniband.lane_buffer: 4 KiB cannot hold a packet of 4200 B "
        "(fabric.link.mtu) in blocks of 64 B; at least 4224 B are needed");
  CHECK(failure(text_of(kHosts, kWorkload, R"(, "fabric": {"infiniband": {}})")) ==
        "x.json:1: fabric.infiniband: belongs to link_layer \"infiniband\"");
}

TEST_CASE("a fabric's values must be possible") {
  const auto fabric_failure = [](const std::string& fabric) {
    return failure(text_of(kHosts, kWorkload, ", \"fabric\": " + fabric));
  };
  CHECK(fabric_failure(R"({"topology": "rign"})").find("did you mean \"ring\"?") !=
        std::string::npos);
  CHECK(fabric_failure(R"({"link_layer": "ipoib"})") ==
        "x.json:1: fabric.link_layer: expected \"rocev2\", \"rocev1\" or \"infiniband\", found "
        "\"ipoib\"");
  CHECK(fabric_failure(R"({"link_layer": "rocev1", "ip_version": "ipv6"})") ==
        "x.json:1: fabric.ip_version: belongs to link_layer \"rocev2\": RoCEv1 has no IP header");
  CHECK(fabric_failure(R"({"ip_version": "ipv6", "link": {"faults": [
          {"kind": "drop", "ipv4_identification_low_byte": 255}]}})") ==
        "x.json:2: fabric.link.faults.0.ipv4_identification_low_byte: belongs to RoCEv2 over IPv4: "
        "no other packet has this field");
  CHECK(fabric_failure(R"({"link": {"rate": "0 Gb/s"}})").find("found \"0 Gb/s\"") !=
        std::string::npos);
  CHECK(fabric_failure(R"({"link": {"preset": "slwo"}})") ==
        "x.json:1: fabric.link.preset: unknown link preset \"slwo\", did you mean \"slow\"?");
}

TEST_CASE("every field of a fault rule is read") {
  Scenario scenario = read(text_of(kHosts, kWorkload, R"(, "fabric": {"link": {"faults": [
      {"kind": "drop", "name": "low", "direction": "forward", "opcode": "rdma write *",
       "psn": 7, "ipv4_identification_low_byte": 255, "from": "1 us", "until": "2 us",
       "every": 256, "first": 3, "count": 4},
      {"kind": "reorder", "probability": 0.001, "delay": "5 us", "behind": 2},
      {"kind": "down", "direction": "backward", "from": "1 us", "until": "2 us"}]}})"));
  const std::vector<FaultRule>& faults = scenario.fabric.link.faults;
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].kind == FaultKind::kDrop);
  CHECK(faults[0].label(0) == "low");
  CHECK(faults[0].direction == FaultDirection::kForward);
  CHECK(faults[0].selects(Opcode::kWriteMiddle));
  CHECK_FALSE(faults[0].selects(Opcode::kSendMiddle));
  CHECK(faults[0].psn == 7U);
  CHECK(faults[0].ipv4_identification_low_byte == std::uint8_t{255});
  CHECK(faults[0].from == 1_us);
  CHECK(faults[0].until == 2_us);
  CHECK(faults[0].every == std::uint64_t{256});
  CHECK(faults[0].first == std::uint64_t{3});
  CHECK(faults[0].count == std::uint64_t{4});
  CHECK(faults[1].kind == FaultKind::kReorder);
  CHECK(faults[1].label(1) == "1");
  CHECK(faults[1].direction == FaultDirection::kBoth);
  CHECK(faults[1].selects(Opcode::kSendMiddle));
  CHECK(faults[1].probability == 0.001);
  CHECK(faults[1].delay == 5_us);
  CHECK(faults[1].behind == 2U);
  CHECK(faults[2].direction == FaultDirection::kBackward);
  TextPresets source = presets();
  const JsonNode dump = dump_config(scenario);
  Scenario again = read_scenario(dump, {}, source);
  CHECK(to_nlohmann(dump_config(again)) == to_nlohmann(dump));
}

TEST_CASE("a named fault rule can be changed by its name") {
  const std::string text = text_of(
      kHosts, kWorkload, R"(, "fabric": {"link": {"faults": [{"kind": "drop", "name": "loss"}]}})");
  const Scenario scenario = read(text, {"", {"fabric.link.faults.loss.probability=0.25"}});
  CHECK(scenario.fabric.link.faults.at(0).probability == 0.25);
}

TEST_CASE("a fault rule must make sense") {
  const auto rule_failure = [](const std::string& members) {
    return failure(
        text_of(kHosts, kWorkload, R"(, "fabric": {"link": {"faults": [{)" + members + "}]}}"));
  };
  const std::string at = "x.json:1: fabric.link.faults.0.";
  CHECK(rule_failure(R"("kind": "drop")") == "no error");
  CHECK(rule_failure(R"("count": 1)") == at + "kind: missing; it must be given (what happens to a "
                                              "packet)");
  CHECK(rule_failure(R"("kind": "dorp")") ==
        at + "kind: expected \"drop\", \"corrupt_icrc\", \"corrupt_fcs\", "
             "\"wrong_opcode\", \"duplicate\", \"reorder\", \"delay\" or \"down\", found \"dorp\", "
             "did you mean \"drop\"?");
  CHECK(rule_failure(R"("kind": "drop", "probability": 0.1, "every": 2)") ==
        at + "every: given together with \"probability\"; choose one");
  CHECK(rule_failure(R"("kind": "drop", "probability": 1.5)") ==
        at + "probability: expected 0 to 1, found 1.5");
  CHECK(rule_failure(R"("kind": "drop", "every": 0)").find(at + "every: expected 1 to") == 0);
  CHECK(rule_failure(R"("kind": "drop", "first": 0)").find(at + "first: expected 1 to") == 0);
  CHECK(rule_failure(R"("kind": "drop", "psn": 16777216)") ==
        at + "psn: expected 0 to 16777215, found 16777216");
  CHECK(rule_failure(R"("kind": "drop", "ipv4_identification_low_byte": 256)") ==
        at + "ipv4_identification_low_byte: expected 0 to 255, found 256");
  CHECK(rule_failure(R"("kind": "drop", "from": "2 us", "until": "2 us")") ==
        at + "until: must be later than \"from\"");
  CHECK(rule_failure(R"("kind": "drop", "delay": "1 us")") ==
        at + "delay: goes with kind \"delay\" or \"reorder\" only");
  CHECK(rule_failure(R"("kind": "delay")") == at + "delay: missing; kind \"delay\" needs it");
  CHECK(rule_failure(R"("kind": "delay", "delay": "1 us", "behind": 1)") ==
        at + "behind: goes with kind \"reorder\" only");
  CHECK(rule_failure(R"("kind": "wrong_opcode")") ==
        at + "sent_as: missing; kind \"wrong_opcode\" needs it");
  CHECK(rule_failure(R"("kind": "drop", "sent_as": "acknowledge")") ==
        at + "sent_as: goes with kind \"wrong_opcode\" only");
  CHECK(rule_failure(R"("kind": "wrong_opcode", "sent_as": "write")") ==
        at + "sent_as: matches no opcode; they are called such as \"RDMA WRITE Middle\" and "
             "\"Acknowledge\"");
  CHECK(
      rule_failure(R"("kind": "wrong_opcode", "opcode": "acknowledge", "sent_as": "send only")") ==
      at + "opcode: matches no opcode with headers as long as \"sent_as\"");
  CHECK(rule_failure(R"("kind": "drop", "protocol": "tcp", "psn": 1)") ==
        at + "psn: segments of TCP have none: remove it");
  CHECK(rule_failure(R"("kind": "drop", "protocol": "tcp", "opcode": "send*")") ==
        at + "opcode: segments of TCP have none: remove it");
  CHECK(rule_failure(R"("kind": "wrong_opcode", "sent_as": "send only", "protocol": "tcp")") ==
        at + "protocol: segments of TCP have no opcode that could be wrong");
  CHECK(rule_failure(R"("kind": "drop", "protocol": "udp")").find(at + "protocol: expected") == 0);
  CHECK(rule_failure(R"("kind": "drop", "protocol": "rdma", "opcode": "pause")")
            .find(at + "opcode: matches no opcode") == 0);
  CHECK(rule_failure(R"("kind": "down", "until": "1 us")") ==
        at + "from: missing; kind \"down\" needs it");
  CHECK(rule_failure(R"("kind": "down", "from": "1 us")") ==
        at + "until: missing; kind \"down\" needs it");
  for (const char* field :
       {"\"protocol\": \"tcp\"", "\"opcode\": \"*\"", "\"psn\": 1", "\"every\": 1", "\"first\": 1",
        "\"count\": 1", "\"probability\": 1", "\"ipv4_identification_low_byte\": 1"})
    CHECK(rule_failure(std::string(R"("kind": "down", "from": "1 us", "until": "2 us", )") + field)
              .find("a link that is down loses every packet: remove it") != std::string::npos);
  CHECK(rule_failure(R"("kind": "drop", "opcode": "rc_write_middle")") ==
        at + "opcode: matches no opcode; they are called such as \"RDMA WRITE Middle\" and "
             "\"Acknowledge\"");
  CHECK(rule_failure(R"("kind": "drop", "name": "7")").find(at + "name: expected") == 0);
  CHECK(rule_failure(R"("kind": "drop", "name": "x"}, {"kind": "drop", "name": "x")") ==
        "x.json:1: fabric.link.faults.1.name: \"x\" is already the name of fabric.link.faults.0");
}

TEST_CASE("the resolved scenario reads back to itself") {
  TextPresets source = presets();
  Scenario scenario = read(text_of(
      R"([{"name": "A", "preset": "small", "nic": {"preset": "fast"}}, {"name": "B"}])", kWorkload,
      R"(, "expect": [{"metric": "m", "equals": 1}], "variants": [{"name": "v", "set": {}}])"));
  const JsonNode dump = dump_config(scenario);
  Scenario again = read_scenario(dump, {}, source);
  CHECK(to_nlohmann(dump_config(again)) == to_nlohmann(dump));
  CHECK(list_config(scenario).size() > 30);
}

TEST_CASE("the schema covers the scenario and what the blocks can be set to") {
  const nlohmann::ordered_json schema = to_nlohmann(scenario_schema());
  CHECK(schema.at("required").dump() == R"(["hosts","workload"])");
  const auto& host = schema.at("properties").at("hosts").at("items").at("properties");
  CHECK(host.contains("memory"));
  CHECK(host.at("nic").at("properties").contains("translation_cache"));
  CHECK(host.at("nics").at("maxItems") == 8);
  CHECK(schema.at("properties").at("$schema").at("type") == "string");
  const nlohmann::ordered_json preset = to_nlohmann(preset_schema(PresetKind::kNic));
  CHECK(preset.at("properties").at("values").at("properties").contains("translation_cache"));
}
