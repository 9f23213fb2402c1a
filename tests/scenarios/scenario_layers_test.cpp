// SPDX-License-Identifier: MIT
// Presets, variants and options, laid over one another.
#include <catch2/catch.hpp>

#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::test;

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

TEST_CASE("a congestion control has presets of its own, below the NIC's") {
  TextPresets source = presets();
  source.texts["congestion_control/c"] =
      R"({"title": "t", "values": {"algorithm": "dcqcn", "dcqcn": {"threshold": 3}},
          "sources": {}})";
  const std::string text = text_of(
      R"([{"name": "A", "nic": {"preset": "fast",
                                "congestion_control": {"preset": "c", "dcqcn": {"g": 0.5}}}},
          {"name": "B"}])",
      kWorkload);
  const CongestionControlConfig config =
      read(text, {}, source).hosts[0].nics[0].config.congestion_control.config;
  CHECK(config.algorithm == CongestionAlgorithm::kDcqcn);
  CHECK(config.dcqcn.threshold == 3);
  CHECK(config.dcqcn.g == 0.5);
  CHECK(read(text, {"", {"hosts.B.nic.congestion_control.preset=c"}}, source)
            .hosts[1]
            .nics[0]
            .config.congestion_control.config.dcqcn.threshold == 3);
  CHECK(failure(text, {"", {"hosts.B.nic.congestion_control.preset=d"}}, source)
            .find("unknown congestion_control preset \"d\"") != std::string::npos);
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

TEST_CASE("a preset with a base tells only what differs, and drops the sources of that") {
  TextPresets source = presets();
  source.texts["host/old"] =
      R"({"title": "old", "values": {"memory": {"page_size": "2 MiB", "size": "8 GiB"},
                                      "pcie": {"generation": 2}},
          "sources": {"memory.page_size": "a", "memory.size": "b", "pcie.generation": "c"}})";
  source.texts["host/new"] =
      R"({"title": "new", "base": "old", "values": {"memory": {"page_size": "1 GiB"}},
          "sources": {"memory.page_size": "d"}})";
  source.texts["host/newest"] =
      R"({"title": "newest", "base": "new", "values": {"pcie": {"generation": 4}}, "sources": {}})";
  const auto preset = source.find(PresetKind::kHost, "newest");
  CHECK(preset->title == "newest");
  CHECK(preset->sources->find("memory.page_size")->text() == "d");
  CHECK(preset->sources->find("memory.size")->text() == "b");
  CHECK(preset->sources->find("pcie.generation") == nullptr);
  const HostConfig config =
      read(text_of(R"([{"name": "A", "preset": "newest"}, {"name": "B"}])", kWorkload), {}, source)
          .hosts[0]
          .config;
  CHECK(config.memory.page_size == 1_GiB);
  CHECK(config.memory.size == 8_GiB);
  CHECK(config.pcie.generation == 4);
}

TEST_CASE("a base's source of a whole object stays with what is not given anew of it") {
  TextPresets source = presets();
  source.texts["host/old"] =
      R"({"title": "old", "values": {"memory": {"page_size": "2 MiB", "size": "8 GiB",
                                                 "bandwidth": "60 GB/s"},
                                      "pcie": {"generation": 2, "lanes": 8}},
          "sources": {"memory": "a", "memory.bandwidth": "b", "pcie": "c"}})";
  source.texts["host/new"] =
      R"({"title": "new", "base": "old", "values": {"memory": {"page_size": "1 GiB"}},
          "sources": {"memory.page_size": "d"}})";
  const auto preset = source.find(PresetKind::kHost, "new");
  CHECK(preset->sources->children().size() == 4);
  CHECK(preset->sources->find("memory") == nullptr);
  CHECK(preset->sources->find("memory.page_size")->text() == "d");
  CHECK(preset->sources->find("memory.size")->text() == "a");
  CHECK(preset->sources->find("memory.bandwidth")->text() == "b");
  CHECK(preset->sources->find("pcie")->text() == "c");
}

TEST_CASE("a base that is not there or leads back is an error of the preset's file") {
  TextPresets source = presets();
  const std::string text = text_of(R"([{"name": "A", "preset": "p"}, {"name": "B"}])", kWorkload);
  source.texts["host/p"] = R"({"title": "t", "base": "q", "values": {}, "sources": {}})";
  CHECK(failure(text, {}, source) ==
        "host/p:1: base: unknown host preset \"q\", did you mean \"p\"?");
  source.texts["host/q"] = R"({"title": "t", "base": "p", "values": {}, "sources": {}})";
  CHECK(failure(text, {}, source) == "host/q:1: base: leads back to \"p\"");
  source.texts["host/q"] = R"({"title": "t", "values": {"memroy": 1}, "sources": {}})";
  CHECK(failure(text, {}, source) ==
        "host/q:1: values.memroy: unknown key, did you mean \"memory\"?");
}

TEST_CASE("a preset's name cannot lead out of its folder") {
  PresetDirectories directories({"scenarios/presets"});
  for (const char* name : {"", ".", "..", "../host/x", "/etc/passwd", "a/b", "a\\b"})
    CHECK(directories.find(PresetKind::kHost, name) == nullptr);
}
