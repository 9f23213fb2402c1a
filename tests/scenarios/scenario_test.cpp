// SPDX-License-Identifier: MIT
#include "scenarios/engine/scenario.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "model/config_output.h"
#include "model/json_document.h"
#include "scenarios/engine/perftest_plan.h"
#include "scenarios/engine/scenario_reader.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// Presets out of the test's own texts.
class TextPresets final : public PresetSource {
 public:
  std::map<std::string, std::string> texts;  ///< "kind/name" -> file

  std::shared_ptr<const Preset> find(PresetKind kind, const std::string& name) override {
    const std::string file = std::string(name_of(kind)) + '/' + name;
    const auto it = texts.find(file);
    if (it == texts.end()) return nullptr;
    return std::make_shared<const Preset>(read_preset(parse_json(it->second, file), kind));
  }
  std::vector<std::string> names(PresetKind kind) override {
    std::vector<std::string> names;
    const std::string folder = std::string(name_of(kind)) + '/';
    for (const auto& [file, text] : texts)
      if (file.rfind(folder, 0) == 0) names.push_back(file.substr(folder.size()));
    return names;
  }
};

TextPresets presets() {
  TextPresets presets;
  presets.texts["host/small"] =
      "{\"title\": \"t\", \"sources\": {\"memory.page_size\": \"assumption\"},\n"
      "\"values\": {\"memory\": {\"page_size\": \"2 MiB\"}}}";
  presets.texts["nic/fast"] =
      R"({"title": "t", "values": {"translation_cache": {"entries": 1024}}, "sources": {}})";
  presets.texts["link/slow"] =
      R"({"title": "t", "values": {"rate": "25 Gb/s", "length": "7 m"}, "sources": {}})";
  return presets;
}

const char* const kHosts = R"([{"name": "A"}, {"name": "B"}])";
const char* const kWorkload = R"([{"name": "w0", "from": "A", "to": "B"}])";

/// A whole scenario; `more` is further members, each with a comma before it.
std::string text_of(const std::string& hosts, const std::string& workload,
                    const std::string& more = "") {
  return "{\"hosts\": " + hosts + ", \"workload\": " + workload + more + "}";
}

Scenario read(const std::string& text, const ScenarioSelection& selection = {},
              TextPresets source = presets()) {
  return read_scenario(parse_json(text, "x.json"), selection, source);
}

std::string failure(const std::string& text, const ScenarioSelection& selection = {},
                    const TextPresets& source = presets()) {
  try {
    read(text, selection, source);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string workload_failure(const std::string& members, const std::string& more = "") {
  return failure(
      text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B", )" + members + "}]", more));
}

}  // namespace

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

TEST_CASE("every field of a workload is read") {
  const Scenario scenario = read(text_of(kHosts, R"([{
      "name": "w", "pattern": "pairs", "operation": "write", "transport": "rc", "from": "B",
      "to": "A", "size": "64 B", "count": 1000, "warm_up": 10, "queue_pairs": 4,
      "queue_depth": 16, "signal_every": 8, "path_mtu": "256 B", "inline": true, "start": "1 us",
      "control_latency": "5 us", "remote_offset": "random", "local_offset": "sequential",
      "region": "64 MiB", "remote_write": false, "fault": "beyond_by_one", "max_rd_atomic": 4,
      "max_dest_rd_atomic": 8, "ack_timeout": 10, "retry_count": 3, "rnr_retry": 2,
      "min_rnr_timer": 1, "fence": true, "completion": "events"}])",
                                         R"(, "engine": {"payload": "elided", "run_ahead": false},
      "timeline": {"work_requests": 3}, "seed": 7, "stop_at": "10 ms", "title": "t",
      "$schema": "s")"));
  const WorkloadSpec& workload = scenario.workload.at(0);
  CHECK(workload.from == "B");
  CHECK(workload.size == 64_B);
  CHECK(workload.count == 1000);
  CHECK(workload.warm_up == 10);
  CHECK(workload.queue_pairs == 4);
  CHECK(workload.queue_depth == 16);
  CHECK(workload.signal_every == 8);
  CHECK(workload.path_mtu == 256_B);
  CHECK(workload.inline_up_to == 988_B);
  CHECK(workload.start == 1_us);
  CHECK(workload.control_latency == 5_us);
  CHECK(workload.remote_offset == OffsetPattern::kRandom);
  CHECK(workload.local_offset == OffsetPattern::kSequential);
  CHECK(workload.region_size() == 64_MiB);
  CHECK_FALSE(workload.remote_write);
  CHECK(workload.fault == AccessFault::kBeyondByOne);
  CHECK(workload.max_rd_atomic == 4);
  CHECK(workload.max_dest_rd_atomic == 8);
  CHECK(workload.ack_timeout == 10);
  CHECK(workload.retry_count == 3);
  CHECK(workload.rnr_retry == 2);
  CHECK(workload.min_rnr_timer == 1);
  CHECK(workload.fence);
  CHECK(workload.completion == CompletionMode::kEvents);
  CHECK(scenario.engine.payload == PayloadMode::kElided);
  CHECK_FALSE(scenario.engine.run_ahead);
  CHECK(scenario.timeline.work_requests == 3);
  CHECK(scenario.seed == 7);
  CHECK(scenario.stop_at == 10_ms);
}

TEST_CASE("layers lie over one another: defaults, preset, scenario, variant, option") {
  const std::string text = text_of(
      R"([{"name": "A", "preset": "small", "nic": {"preset": "fast"}},
          {"name": "B", "nics": [{"preset": "fast", "translation_cache": {"entries": 512}}]}])",
      kWorkload,
      R"(, "fabric": {"link": {"preset": "slow", "length": "1 m"}},
          "variants": [{"name": "v", "set": {"hosts.*.memory.page_size": "1 GiB",
                                            "hosts.*.nic.translation_cache.entries": 256}}])");
  Scenario scenario = read(text);
  CHECK(scenario.hosts[0].config.memory.page_size == 2_MiB);
  CHECK(scenario.hosts[1].config.memory.page_size == 4_KiB);
  CHECK(scenario.hosts[0].nics[0].config.translation_cache.geometry.entries == 1024);
  CHECK(scenario.hosts[1].nics[0].config.translation_cache.geometry.entries == 512);
  CHECK(scenario.fabric.link.config.rate == BitRate::gbps(25));
  CHECK(scenario.fabric.link.config.length == Length::m(1));

  scenario = read(text, {"v", {}});
  CHECK(scenario.variant == "v");
  CHECK(scenario.hosts[0].config.memory.page_size == 1_GiB);
  CHECK(scenario.hosts[1].nics[0].config.translation_cache.geometry.entries == 256);

  scenario = read(text, {"v",
                         {"hosts.B.memory.page_size=4 KiB", "seed=5",
                          "hosts.A.nics.0.translation_cache.entries=128"}});
  CHECK(scenario.hosts[0].config.memory.page_size == 1_GiB);
  CHECK(scenario.hosts[1].config.memory.page_size == 4_KiB);
  CHECK(scenario.hosts[0].nics[0].config.translation_cache.geometry.entries == 128);
  CHECK(scenario.seed == 5);
}

TEST_CASE("an option may change the preset, or remove what was laid over it") {
  const std::string text = text_of(
      R"([{"name": "A", "preset": "small", "memory": {"page_size": "1 GiB"}}, {"name": "B"}])",
      kWorkload);
  CHECK(read(text, {"", {"hosts.B.preset=small"}}).hosts[1].config.memory.page_size == 2_MiB);
  CHECK(read(text, {"", {"hosts.A.memory=null"}}).hosts[0].config.memory.page_size == 4_KiB);
  CHECK(read(text, {"", {"hosts.*.nic.preset=\"fast\""}})
            .hosts[1]
            .nics[0]
            .config.translation_cache.geometry.entries == 1024);
}

TEST_CASE("an error in a layer points to that layer") {
  const std::string text =
      text_of("[{\"name\": \"A\",\n\"preset\": \"small\"}, {\"name\": \"B\"}]", kWorkload,
              ",\n\"variants\": [{\"name\": \"v\", \"set\": {\n\"hosts.*.memory.page_size\": 4}}]");
  CHECK(failure(text, {"v", {}}) ==
        "x.json:4: hosts.0.memory.page_size: expected a size such as \"4 KiB\", found 4 without a "
        "unit (B, kB, KiB, MB, MiB, GB, GiB, TB, TiB)");
  CHECK(failure(text, {"", {"hosts.A.memory.page_size=3 KiB"}}) ==
        "--set: hosts.0.memory.page_size: expected 4 KiB, 2 MiB or 1 GiB, found \"3 KiB\"");
  CHECK(failure(text, {"", {"hosts.A.nic.translation_cache.entires=3"}}) ==
        "--set: hosts.0.nic.translation_cache.entires: unknown key, did you mean \"entries\"?");
  CHECK(failure(text, {"", {"hosts.C.nic=3"}}) ==
        "--set: hosts.C.nic: expected an index below 2 or a name (A or B) in list \"hosts\", found "
        "\"C\"");
  CHECK(failure(text, {"", {"seed"}}) == "--set: expected PATH=VALUE, found \"seed\"");
  CHECK(failure(text, {"", {"=1"}}) == "--set: expected keys joined by dots, found an empty key");
  CHECK(failure(text, {"w", {}}) == "x.json: variants: unknown variant \"w\", did you mean \"v\"?");
}

TEST_CASE("presets are checked where they are written") {
  TextPresets source = presets();
  const std::string text = text_of(R"([{"name": "A", "preset": "p"}, {"name": "B"}])", kWorkload);
  const auto with = [&](const std::string& preset) {
    source.texts["host/p"] = preset;
    return failure(text, {}, source);
  };
  CHECK(failure(text) == "x.json:1: hosts.0.preset: unknown host preset \"p\"; known: small");
  CHECK(failure(text_of(R"([{"name": "A", "preset": "smal"}, {"name": "B"}])", kWorkload)) ==
        "x.json:1: hosts.0.preset: unknown host preset \"smal\", did you mean \"small\"?");
  CHECK(with("{\"title\": \"t\",\n\"values\": {\"memroy\": {}}, \"sources\": {}}") ==
        "host/p:2: values.memroy: unknown key, did you mean \"memory\"?");
  CHECK(with(R"({"title": "t", "values": {}})").find("host/p:1: sources: missing") == 0);
  CHECK(with(R"({"title": "t", "values": {}, "sources": {"memory.size": "x"}})") ==
        R"(host/p:1: sources."memory.size": no such path in "values")");
  CHECK(with(R"({"title": "t", "values": {"memory": {}}, "sources": {"memory": 1}})") ==
        R"(host/p:1: sources."memory": expected a string, found 1)");
  CHECK(with(R"({"title": "t", "values": {"nic": {}}, "sources": {}})")
            .find("host/p:1: values.nic: unknown key") == 0);
}

TEST_CASE("a preset's name cannot lead out of its folder") {
  PresetDirectories directories({"scenarios/presets"});
  for (const char* name : {"", ".", "..", "../host/x", "/etc/passwd", "a/b", "a\\b"})
    CHECK(directories.find(PresetKind::kHost, name) == nullptr);
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
        "x.json:1: hosts: topology \"back_to_back\" needs exactly 2 hosts, found 1");
  CHECK(failure(text_of(R"([{"name": "A"}, {"name": "B", "nics": [{}, {}]}])", kWorkload)) ==
        "x.json:1: hosts.1.nics: topology \"back_to_back\" needs exactly 1 NIC in each host, found "
        "2");
  CHECK(failure(text_of(R"([{"name": "A", "nic": {}, "nics": [{}]}, {"name": "B"}])", kWorkload)) ==
        "x.json:1: hosts.0.nic: given together with \"nics\", of which it is short");
  CHECK(failure("{\"hosts\": []}").find("x.json:1: hosts: expected a list of 1 to 65536") == 0);
  CHECK(failure("{}") == "x.json:1: hosts: missing; it must be given (the servers)");
  CHECK(failure("[]") == "x.json:1: expected an object, found a list");
}

TEST_CASE("a workload's values must be possible") {
  CHECK(workload_failure(R"("size": "-1 B")").find("which has a sign") != std::string::npos);
  CHECK(workload_failure(R"("size": "3 GiB")") ==
        "x.json:1: workload.0.size: expected 0 B to 2 GiB, found \"3 GiB\"");
  CHECK(workload_failure(R"("size": "0 B")") == "no error");
  CHECK(workload_failure(R"("count": 0)") ==
        "x.json:1: workload.0.count: expected 1 to 10000000, found 0");
  CHECK(workload_failure(R"("path_mtu": "1500 B")") ==
        "x.json:1: workload.0.path_mtu: expected 256 B, 512 B, 1 KiB, 2 KiB or 4 KiB, found "
        "\"1500 B\"");
  const auto needs = [](const char* link_layer, const char* mtu) {
    return workload_failure(
        R"("path_mtu": "4096 B")",
        std::string(R"(, "fabric": {)") + link_layer + R"("link": {"mtu": ")" + mtu + "\"}}");
  };
  CHECK(needs(R"("link_layer": "rocev1", )", "4186 B") == "no error");
  CHECK(needs(R"("link_layer": "rocev1", )", "4185 B") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 90 B of headers do not fit "
        "fabric.link.mtu, 4185 B");
  CHECK(needs(R"("ip_version": "ipv6", )", "4194 B") == "no error");
  CHECK(needs(R"("ip_version": "ipv6", )", "4193 B") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 98 B of headers do not fit "
        "fabric.link.mtu, 4193 B");
  CHECK(workload_failure(R"("path_mtu": "4096 B")", R"(, "fabric": {"link": {"mtu": "4173 B"}})") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 78 B of headers do not fit "
        "fabric.link.mtu, 4173 B");
  CHECK(workload_failure(R"("path_mtu": "4096 B")", R"(, "fabric": {"link": {"mtu": "4174 B"}})") ==
        "no error");
  CHECK(workload_failure(R"("pattern": "pears")") ==
        "x.json:1: workload.0.pattern: expected \"pairs\", \"perftest\" or \"rkey_guessing\", "
        "found \"pears\", did "
        "you mean \"pairs\"?");
  CHECK(workload_failure(R"("operation": "reed")").find("did you mean \"read\"?") !=
        std::string::npos);
  CHECK(workload_failure(R"("warm_up": 1)") ==
        "x.json:1: workload.0.warm_up: must be less than count");
  CHECK(workload_failure(R"("queue_depth": 4, "signal_every": 5)") ==
        "x.json:1: workload.0.signal_every: must not exceed queue_depth, or the send queue fills "
        "without a completion");
  CHECK(workload_failure(R"("region": "1 KiB")") ==
        "x.json:1: workload.0.region: must hold at least one message of `size`");
  CHECK(workload_failure(R"("inline": true)") ==
        "x.json:1: workload.0.inline: a message of 64 KiB does not fit into a WQE, which holds at "
        "most 988 B");
  CHECK(workload_failure(R"("inline": "1 KiB")") ==
        "x.json:1: workload.0.inline: expected 0 B to 988 B, found \"1 KiB\"");
  CHECK(workload_failure(R"("inline": 5)") ==
        "x.json:1: workload.0.inline: expected a value of type boolean or string, found 5");
  CHECK(read(text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B", "inline": "64 B"}])"))
            .workload[0]
            .inline_up_to == 64_B);
  CHECK(workload_failure(R"("fault": "stale")") ==
        "x.json:1: workload.0.fault: expected \"none\", \"wrong_key\", \"stale_key\", \"below\", "
        "\"below_by_one\", \"beyond\", \"beyond_by_one\", \"wrap\", \"no_right\", \"wrong_pd\" or "
        "\"silent\", "
        "found \"stale\"");
}

TEST_CASE("an operation must be one of its transport") {
  CHECK(workload_failure(R"("operation": "read", "transport": "uc")") ==
        "x.json:1: workload.0.operation: \"read\" is no operation of transport \"uc\"");
  CHECK(workload_failure(R"("operation": "fetch_add", "size": "8 B", "transport": "uc")") ==
        "x.json:1: workload.0.operation: \"fetch_add\" is no operation of transport \"uc\"");
  CHECK(workload_failure(R"("operation": "write", "size": "8 B", "transport": "ud")") ==
        "x.json:1: workload.0.operation: \"write\" is no operation of transport \"ud\"");
  for (const char* transport : {"uc", "ud"})
    CHECK(workload_failure(R"("operation": "send_invalidate", "size": "8 B", "transport": ")" +
                           std::string(transport) + '"') ==
          "x.json:1: workload.0.operation: \"send_invalidate\" is no operation of transport \"" +
              std::string(transport) + '"');
  for (const char* operation : {"write", "write_imm", "send", "send_imm"})
    CHECK(workload_failure(R"("transport": "uc", "operation": ")" + std::string(operation) + '"') ==
          "no error");
  for (const char* operation : {"send", "send_imm"})
    CHECK(workload_failure(R"("transport": "ud", "size": "4 KiB", "operation": ")" +
                           std::string(operation) + '"') == "no error");
}

TEST_CASE("an operation's keys must be its own") {
  CHECK(workload_failure(R"("operation": "send_invalidate", "receiver_polls": false)") ==
        "x.json:1: workload.0.receiver_polls: send_invalidate: the receiver binds windows for what "
        "comes next");
  CHECK(
      workload_failure(R"("operation": "send_invalidate", "target_fault": "qp_error")") ==
      "x.json:1: workload.0.target_fault: send_invalidate: the target's queue pairs bind windows");
  CHECK(workload_failure(R"("operation": "compare_swap")") ==
        "x.json:1: workload.0.size: an atomic operates on 8 B, found 64 KiB");
  CHECK(workload_failure(R"("operation": "fetch_add", "size": "8 B", "local_offset": "random")") ==
        "x.json:1: workload.0.local_offset: what atomics bring goes to places in turn; leave it "
        "out");
  CHECK(workload_failure(R"("operation": "send", "transport": "ud", "size": "4097 B")") ==
        "x.json:1: workload.0.size: a datagram is one packet: 4097 B do not fit path_mtu, 4 KiB");
  CHECK(workload_failure(
            R"("operation": "send", "transport": "ud", "size": "64 B", "region": "100 B")") ==
        "x.json:1: workload.0.region: must hold at least one message and the 40 B before it");
  CHECK(workload_failure(R"("receive_depth": 4)") ==
        "x.json:1: workload.0.receive_depth: belongs to operations that take receives");
  CHECK(workload_failure(R"("operation": "read", "receiver_delay": "1 us")") ==
        "x.json:1: workload.0.receiver_delay: belongs to operations that take receives");
  CHECK(workload_failure(R"("operation": "send", "remote_offset": "random")") ==
        "x.json:1: workload.0.remote_offset: receives are taken in order: fixed or sequential");
  CHECK(workload_failure(R"("operation": "read", "remote_write": false)") ==
        "x.json:1: workload.0.remote_write: belongs to WRITEs");
  CHECK(workload_failure(R"("operation": "send", "fault": "below")") ==
        "x.json:1: workload.0.fault: \"send\" names no memory that could be falsified; only "
        "\"silent\" is possible");
  CHECK(workload_failure(R"("operation": "read", "size": "64 B", "inline": true)") ==
        "x.json:1: workload.0.inline: \"read\" has no data to send");
  CHECK(workload_failure(R"("operation": "bind_window", "size": "64 B", "inline": true)") ==
        "x.json:1: workload.0.inline: \"bind_window\" has no data to send");
  CHECK(workload_failure(R"("operation": "bind_window", "transport": "ud", "size": "64 B")") ==
        "x.json:1: workload.0.operation: \"bind_window\" is no operation of transport \"ud\"");
  CHECK(workload_failure(R"("operation": "send", "size": "1004 B", "inline": true)") == "no error");
  CHECK(workload_failure(R"("operation": "write_imm")",
                         R"(, "fabric": {"link": {"mtu": "4177 B"}})") ==
        "x.json:1: workload.0.path_mtu: 4 KiB of payload and 82 B of headers do not fit "
        "fabric.link.mtu, 4177 B");
  CHECK(workload_failure(R"("receive_fault": "short")") ==
        "x.json:1: workload.0.receive_fault: belongs to SENDs: nothing else comes into the buffer "
        "of a receive");
  CHECK(workload_failure(R"("operation": "send", "target_fault": "qp_reset")") ==
        "x.json:1: workload.0.target_fault: a queue pair with receives must be emptied first: "
        "\"qp_error\"");
  CHECK(workload_failure(R"("ack_timeout": 32)") ==
        "x.json:1: workload.0.ack_timeout: expected 0 to 31, found 32");
  CHECK(workload_failure(R"("max_rd_atomic": 17)") ==
        "x.json:1: workload.0.max_rd_atomic: expected 0 to 16, found 17");
}

TEST_CASE("a region of atomics has a place for every answer that may come") {
  const Scenario scenario = read(text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B",
      "operation": "fetch_add", "size": "8 B", "queue_pairs": 2, "queue_depth": 4}])"));
  CHECK(scenario.workload[0].region_size() == 64_B);
}

TEST_CASE("a perftest takes its program's defaults") {
  const auto plan = [](const std::string& members) {
    return PerftestPlan(
        read(text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B", "pattern": "perftest", )" +
                                 members + "}]"))
            .workload[0]);
  };
  const PerftestPlan write_bw = plan(R"("test": "ib_write_bw")");
  CHECK(write_bw.sizes == std::vector<Bytes>{64_KiB});
  CHECK(write_bw.iterations == 5000);
  CHECK(write_bw.tx_depth == 128);
  CHECK(write_bw.cq_moderation == 1);  // one size beyond 8 KiB
  CHECK(write_bw.inline_size == 0_B);
  CHECK_FALSE(write_bw.both_send());
  const PerftestPlan all = plan(R"("test": "ib_write_bw", "sizes": "all")");
  CHECK(all.sizes.size() == 23);
  CHECK(all.sizes.front() == 2_B);
  CHECK(all.sizes.back() == 8_MiB);
  CHECK(all.cq_moderation == 100);
  const PerftestPlan write_lat = plan(R"("test": "ib_write_lat")");
  CHECK(write_lat.sizes == std::vector<Bytes>{2_B});
  CHECK(write_lat.iterations == 1000);
  CHECK(write_lat.tx_depth == 1);
  CHECK(write_lat.cq_moderation == 1);
  CHECK(write_lat.inline_size == 220_B);
  CHECK(write_lat.both_send());
  CHECK(write_lat.trips() == 2);
  CHECK(plan(R"("test": "ib_read_lat")").trips() == 1);
  CHECK_FALSE(plan(R"("test": "ib_read_lat")").both_send());
  CHECK(plan(R"("test": "ib_send_bw")").rx_depth == 512);
  CHECK(plan(R"("test": "ib_send_bw", "iterations": 100)").tx_depth == 100);
  CHECK(plan(R"("test": "ib_send_lat", "transport": "ud")").inline_size == 188_B);
  CHECK(plan(R"("test": "ib_send_bw", "transport": "ud", "sizes": "all")").sizes.back() == 4_KiB);
  CHECK(plan(R"("test": "ib_atomic_bw", "sizes": "all")").sizes == std::vector<Bytes>{8_B});
  CHECK(plan(R"("test": "ib_write_bw", "sizes": "16 KiB", "cq_moderation": 50)").cq_moderation ==
        50);
}

TEST_CASE("the guessing of keys refuses what belongs to other patterns, and they what is its own") {
  const auto guessing_failure = [](const std::string& members) {
    return workload_failure(R"("pattern": "rkey_guessing", )" + members);
  };
  CHECK(guessing_failure(R"("count": 5)") ==
        "x.json:1: workload.0.count: belongs to the pattern \"pairs\"");
  CHECK(guessing_failure(R"("iterations": 5)") ==
        "x.json:1: workload.0.iterations: belongs to the pattern \"perftest\"");
  CHECK(guessing_failure(R"("transport": "uc")") ==
        "x.json:1: workload.0.transport: READs need \"rc\"");
  CHECK(guessing_failure(R"("queue_pairs": 2)") ==
        "x.json:1: workload.0.queue_pairs: the attacker has one queue pair");
  CHECK(workload_failure(R"("tries": 5)") ==
        "x.json:1: workload.0.tries: belongs to the pattern \"rkey_guessing\"");
  CHECK(workload_failure(R"("pattern": "perftest", "test": "ib_write_bw", "target_regions": 5)") ==
        "x.json:1: workload.0.target_regions: belongs to the pattern \"rkey_guessing\"");
}

TEST_CASE("a perftest refuses what its program does not have") {
  const auto perftest_failure = [](const std::string& members) {
    return workload_failure(R"("pattern": "perftest", )" + members);
  };
  CHECK(perftest_failure(R"("tx_depth": 1)") ==
        "x.json:1: workload.0.test: the pattern \"perftest\" needs the name of a program, such as "
        "\"ib_write_bw\"");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "size": "8 B")") ==
        "x.json:1: workload.0.size: belongs to the pattern \"pairs\"");
  CHECK(workload_failure(R"("test": "ib_write_bw")") ==
        "x.json:1: workload.0.test: belongs to the pattern \"perftest\"");
  CHECK(workload_failure(R"("sizes": "all")") ==
        "x.json:1: workload.0.sizes: belongs to the pattern \"perftest\"");
  CHECK(perftest_failure(R"("test": "ib_read_bw", "transport": "uc")") ==
        "x.json:1: workload.0.transport: ib_read_bw does not run over \"uc\"");
  CHECK(perftest_failure(R"("test": "ib_write_lat", "queue_pairs": 2)") ==
        "x.json:1: workload.0.queue_pairs: a program that measures latency has one queue pair");
  CHECK(perftest_failure(R"("test": "ib_write_lat", "tx_depth": 2)") ==
        "x.json:1: workload.0.tx_depth: belongs to programs that measure bandwidth");
  CHECK(perftest_failure(R"("test": "ib_read_bw", "inline_size": "64 B")") ==
        "x.json:1: workload.0.inline_size: READs and atomics have no data to send");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "sizes": ["8 B", "8 B"])") ==
        "x.json:1: workload.0.sizes.1: 8 B stands in the list twice");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "sizes": [])") ==
        "x.json:1: workload.0.sizes: an empty list");
  CHECK(perftest_failure(R"("test": "ib_write_bw", "sizes": "8")").find("workload.0.sizes") !=
        std::string::npos);
  CHECK(perftest_failure(R"("test": "ib_atomic_bw", "sizes": "16 B")") ==
        "x.json:1: workload.0.sizes: an atomic operates on 8 B");
}

TEST_CASE("a fabric's values must be possible") {
  const auto fabric_failure = [](const std::string& fabric) {
    return failure(text_of(kHosts, kWorkload, ", \"fabric\": " + fabric));
  };
  CHECK(fabric_failure(R"({"topology": "ring"})") ==
        "x.json:1: fabric.topology: expected \"back_to_back\", found \"ring\"");
  CHECK(fabric_failure(R"({"link_layer": "infiniband"})") ==
        "x.json:1: fabric.link_layer: expected \"rocev2\" or \"rocev1\", found \"infiniband\"");
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
  CHECK(rule_failure(R"("kind": "down", "until": "1 us")") ==
        at + "from: missing; kind \"down\" needs it");
  CHECK(rule_failure(R"("kind": "down", "from": "1 us")") ==
        at + "until: missing; kind \"down\" needs it");
  for (const char* field :
       {"\"opcode\": \"*\"", "\"psn\": 1", "\"every\": 1", "\"first\": 1", "\"count\": 1",
        "\"probability\": 1", "\"ipv4_identification_low_byte\": 1"})
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
