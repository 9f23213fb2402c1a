// SPDX-License-Identifier: MIT
#include "scenarios/engine/result_document.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/engine/run_json.h"
#include "scenarios/engine/scenario_reader.h"

using namespace rnicsim;
using Json = nlohmann::ordered_json;

namespace {

Scenario scenario_of(const std::string& text) {
  PresetDirectories presets({});
  return read_scenario(parse_json(text, "x.json"), {}, presets);
}

const char* const kText = R"({
  "title": "a title", "seed": 7,
  "hosts": [{"name": "A"}, {"name": "B"}],
  "workload": [{"name": "w0", "from": "A", "to": "B", "inline": true, "size": "16 B"}],
  "variants": [{"name": "v", "set": {"seed": 2}}],
  "expect": [{"id": "e", "metric": "z.count", "between": [1, 3], "source": "a paper"},
             {"metric": "a.time", "equals": "1 us", "tolerance": "50 %"},
             {"violation": "deadlock", "at_least": 1}]})";

RunResult a_result() {
  RunResult result;
  result.timeline.push_back({4,
                             "doorbell",
                             Time::ns(10),
                             Time::ns(30),
                             1,
                             Time::ns(30),
                             Time::ns(10),
                             "A",
                             "cpu",
                             "verbs",
                             "data",
                             8,
                             72057594037927937ULL,
                             "rings \"it\"\n\xff",
                             {RecordDetail::Kind::kQueuePairFailed, "ERR", "timed out", 7, 3}});
  result.metrics["z.count"] = {true, 18446744073709551615ULL, 0, Unit::kCount, "how many"};
  result.metrics["a.time"] = {true, 1'250'000, 0, Unit::kPicoseconds, "how long"};
  result.metrics["b.rate"] = {false, 0, 97.0e9, Unit::kBitsPerSecond, "how fast"};
  result.metrics["c.ratio"] = {false, 0, 1.0 / 3, Unit::kRatio, "how much of it"};
  result.violations.push_back({"deadlock", "w0", Time::us(3), "waits"});
  result.bottlenecks.push_back(
      {"w0", "busy", "a.time", 0.875, "a", Time::us(4), true, "b.time", 0.5, 16, 17, Time::ns(18)});
  result.notes = {"a place stays empty"};
  result.end = Time::us(5);
  result.callbacks = 11;
  result.data_packets = 12;
  result.packet_hops = 13;
  return result;
}

std::vector<JudgedRun> runs() {
  ScenarioFile file;
  file.name = "x";
  file.document = parse_json(kText, "x.json");
  file.base = scenario_of(kText);
  file.runs = {file.base};
  return judge(file, {a_result()});
}

}  // namespace

TEST_CASE("a result survives the pipe") {
  const RunResult back = run_from_text(run_to_text(a_result()));
  CHECK(run_to_text(back) == run_to_text(a_result()));
  CHECK(back.metrics.at("z.count").exact);
  CHECK(back.metrics.at("z.count").value == 18446744073709551615ULL);
  CHECK(back.metrics.at("z.count").description == "how many");
  CHECK_FALSE(back.metrics.at("b.rate").exact);
  CHECK(back.metrics.at("b.rate").unit == Unit::kBitsPerSecond);
  CHECK(back.metrics.at("c.ratio").real == 1.0 / 3);
  CHECK(back.timeline.at(0).work_request == 72057594037927937ULL);
  CHECK(back.timeline.at(0).end == Time::ns(30));
  const RecordDetail& detail = back.timeline.at(0).detail;
  CHECK(detail.kind == RecordDetail::Kind::kQueuePairFailed);
  CHECK(detail.what == "ERR");
  CHECK(detail.why == "timed out");
  CHECK(detail.number == 7);
  CHECK(detail.misses == 3);
  const Bottleneck& bottleneck = back.bottlenecks.at(0);
  CHECK(bottleneck.span == Time::us(4));
  CHECK(bottleneck.over_sizes);
  CHECK(bottleneck.next == "b.time");
  CHECK(bottleneck.next_part == 0.5);
  CHECK(bottleneck.limit == 16);
  CHECK(bottleneck.count == 17);
  CHECK(bottleneck.each == Time::ns(18));
  CHECK(back.violations.at(0).kind == "deadlock");
  CHECK(back.end == Time::us(5));
  CHECK(back.callbacks == 11);
  CHECK(back.data_packets == 12);
  CHECK(back.packet_hops == 13);
  CHECK(run_to_text(a_result()).find('\n') == std::string::npos);
}

TEST_CASE("a value that is no number comes back as none") {
  RunResult result;
  result.metrics["x"] = {false, 0, std::nan(""), Unit::kRatio, ""};
  CHECK(std::isnan(run_from_text(run_to_text(result)).metrics.at("x").real));
}

TEST_CASE("the document has the layout that its header describes") {
  const Json document = result_document(runs());
  CHECK(document["format"] == "rnicsim-result");
  CHECK(document["version"] == kResultVersion);
  REQUIRE(document["runs"].size() == 1);
  const Json& run = document["runs"][0];
  std::vector<std::string> keys;
  for (const auto& [key, value] : run.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"scenario", "title", "variant", "seed", "configuration",
                                         "packet_format", "routable", "notes", "end_ps", "timeline",
                                         "metrics", "bottlenecks", "expectations", "violations",
                                         "passed"});
  CHECK(run["packet_format"] == "RoCEv2 over IPv4");
  CHECK(run["routable"] == true);
  CHECK(run["notes"] == Json({"a place stays empty"}));
  CHECK(run["scenario"] == "x");
  CHECK(run["seed"] == 7);
  CHECK(run["metrics"].dump() ==
        R"({"a.time":{"value":1250000,"unit":"ps"},"b.rate":{"value":97000000000.0,"unit":"b/s"},)"
        R"("c.ratio":{"value":0.3333333333333333,"unit":"ratio"},)"
        R"("z.count":{"value":18446744073709551615,"unit":"count"}})");
  CHECK(run["bottlenecks"].dump() ==
        R"([{"workload":"w0","kind":"busy","resource":"a.time","share":0.875,"text":"a"}])");
  CHECK(run["expectations"][1].dump() ==
        R"({"metric":"a.time","relation":"equals","expected":1000000,"tolerance":500000,)"
        R"("measured":1250000,"unit":"ps","passed":true})");
  CHECK(run["expectations"][0]["expected"] == Json({1, 3}));
  CHECK(run["expectations"][0]["source"] == "a paper");
  CHECK(run["expectations"][2]["violation"] == "deadlock");
  CHECK(run["violations"][0].dump() ==
        R"({"kind":"deadlock","where":"w0","when_ps":3000000,"text":"waits","expected":true})");
  CHECK(run["passed"] == false);  // the count is no 1 to 3
}

TEST_CASE("the configuration in a document is a scenario of its own that gives the same") {
  const Json configuration = result_document(runs())["runs"][0]["configuration"];
  CHECK(configuration["fabric"]["link"]["rate"] == "100 Gb/s");
  CHECK_FALSE(configuration.contains("expect"));
  std::vector<JudgedRun> again = runs();
  again[0].setup = scenario_of(configuration.dump());
  CHECK(result_document(again)["runs"][0]["configuration"] == configuration);
}

TEST_CASE("a document on lines is the same JSON, records on a line each") {
  const Json json = Json::parse(R"({"a": [{"b": 1, "c": "x"}, {"b": [1, 2]}], "d": {}, "e": []})");
  CHECK(to_lines(json) ==
        "{\n"
        "  \"a\": [\n"
        "    { \"b\": 1, \"c\": \"x\" },\n"
        "    {\n"
        "      \"b\": [ 1, 2 ]\n"
        "    }\n"
        "  ],\n"
        "  \"d\": {},\n"
        "  \"e\": []\n"
        "}\n");
  CHECK(Json::parse(to_lines(result_document(runs()))).size() == 3);
  CHECK(to_lines(result_document(runs())) == to_lines(result_document(runs())));
}
