// SPDX-License-Identifier: MIT
#include "scenarios/engine/expectations.h"

#include <catch2/catch.hpp>

#include "model/json_document.h"
#include "scenarios/engine/scenario_reader.h"

using namespace rnicsim;

namespace {

/// A file with the variant "v" and these expectations.
ScenarioFile file_with(const std::string& expect) {
  PresetDirectories presets({});
  ScenarioFile file;
  file.name = "x";
  file.document = parse_json(
      "{\"hosts\": [{\"name\": \"A\"}, {\"name\": \"B\"}],\n"
      "\"workload\": [{\"name\": \"w0\", \"from\": \"A\", \"to\": \"B\"}],\n"
      "\"variants\": [{\"name\": \"v\", \"set\": {\"seed\": 2}}],\n"
      "\"expect\": [" +
          expect + "]}",
      "x.json");
  file.base = read_scenario(file.document, {}, presets);
  file.runs = {file.base, read_scenario(file.document, {"v", {}}, presets)};
  return file;
}

RunResult result_with(std::uint64_t latency_ps, std::uint64_t bytes) {
  RunResult result;
  result.metrics["workload.w0.latency.p50"] = {true, latency_ps, 0, Unit::kPicoseconds, ""};
  result.metrics["workload.w0.bytes"] = {true, bytes, 0, Unit::kBytes, ""};
  result.metrics["workload.w0.goodput"] = {false, 0, 1e9 * static_cast<double>(bytes),
                                           Unit::kBitsPerSecond, ""};
  return result;
}

std::vector<JudgedRun> judged(const std::string& expect) {
  return judge(file_with(expect), {result_with(9'000'000, 10), result_with(18'000'000, 15)});
}

bool passes(const std::string& expect) {
  const std::vector<JudgedRun> runs = judged(expect);
  return runs[0].passed() && runs[1].passed();
}

std::string failure(const std::string& expect) {
  try {
    judged(expect);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("equals holds within its tolerance and not beyond") {
  CHECK(passes(R"({"metric": "workload.w0.latency.p50", "equals": "9 us"})"));
  CHECK_FALSE(passes(R"({"metric": "workload.w0.latency.p50", "equals": "9001 ns"})"));
  CHECK(passes(R"({"metric": "workload.w0.latency.p50", "equals": "10 us", "tolerance": "10 %"})"));
  CHECK_FALSE(
      passes(R"({"metric": "workload.w0.latency.p50", "equals": "10 us", "tolerance": "9 %"})"));
  CHECK(passes(
      R"({"metric": "workload.w0.latency.p50", "equals": "9.5 us", "tolerance": "500 ns"})"));
  CHECK(passes(R"({"metric": "workload.w0.goodput", "equals": "10 Gb/s"})"));
}

TEST_CASE("bounds include their ends") {
  CHECK(passes(R"({"metric": "workload.w0.bytes", "at_least": "10 B"})"));
  CHECK_FALSE(passes(R"({"metric": "workload.w0.bytes", "at_least": "11 B"})"));
  CHECK(passes(R"({"metric": "workload.w0.bytes", "at_most": "10 B"})"));
  CHECK_FALSE(passes(R"({"metric": "workload.w0.bytes", "at_most": "9 B"})"));
  CHECK(passes(R"({"metric": "workload.w0.bytes", "between": ["10 B", "11 B"]})"));
  CHECK_FALSE(passes(R"({"metric": "workload.w0.bytes", "between": ["11 B", "12 B"]})"));
}

TEST_CASE("a variant's metric is compared with another run's by ratio") {
  const std::vector<JudgedRun> runs = judged(
      R"({"metric": "v:workload.w0.bytes", "at_least": 1.5, "ratio_to": "workload.w0.bytes"})");
  CHECK(runs[0].expectations.empty());
  REQUIRE(runs[1].expectations.size() == 1);
  CHECK(runs[1].expectations[0].passed);
  CHECK(runs[1].expectations[0].measured == 1.5);
  CHECK(runs[1].expectations[0].unit == Unit::kRatio);
  CHECK_FALSE(passes(
      R"({"metric": "v:workload.w0.bytes", "at_least": 1.6, "ratio_to": "workload.w0.bytes"})"));
}

TEST_CASE("two metrics are compared by their difference, in their unit") {
  const std::vector<JudgedRun> runs = judged(
      R"({"metric": "v:workload.w0.latency.p50", "equals": "9.5 us", "tolerance": "6 %",
          "difference_to": "workload.w0.latency.p50"})");
  REQUIRE(runs[1].expectations.size() == 1);
  CHECK(runs[1].expectations[0].measured == 9e6);
  CHECK(runs[1].expectations[0].unit == Unit::kPicoseconds);
  CHECK(runs[1].passed());
  CHECK_FALSE(passes(
      R"({"metric": "v:workload.w0.latency.p50", "equals": "9.5 us", "tolerance": "5 %",
          "difference_to": "workload.w0.latency.p50"})"));
  CHECK(failure(R"({"metric": "v:workload.w0.bytes", "equals": "1 us",
                    "difference_to": "workload.w0.bytes"})")
            .find("a value to compare with a metric in B") != std::string::npos);
}

TEST_CASE("a ratio to zero fails") {
  const ScenarioFile file = file_with(
      R"({"metric": "workload.w0.bytes", "at_most": 9, "ratio_to": "v:workload.w0.bytes"})");
  CHECK_FALSE(judge(file, {result_with(1, 1), result_with(1, 0)})[0].passed());
  CHECK_FALSE(judge(file, {result_with(1, 0), result_with(1, 0)})[0].passed());
}

TEST_CASE("a failed expectation knows both values") {
  const std::vector<JudgedRun> runs =
      judged(R"({"metric": "workload.w0.latency.p50", "at_most": "8 us"})");
  REQUIRE(runs[0].expectations.size() == 1);
  const ExpectationResult& result = runs[0].expectations[0];
  CHECK_FALSE(result.passed);
  CHECK(result.measured == 9'000'000);
  CHECK(result.spec.low.value == 8'000'000);
  CHECK_FALSE(runs[0].passed());
  CHECK(runs[1].passed());
}

TEST_CASE("a metric that no run has is an input error with the nearest known one") {
  CHECK(failure(R"({"metric": "workload.w0.latency.p5", "equals": 1})") ==
        "x.json:4: expect.0.metric: unknown metric \"workload.w0.latency.p5\", did you mean "
        "\"workload.w0.latency.p50\"?");
  CHECK(failure("{\"metric\": \"workload.w0.bytes\", \"equals\": 1,\n"
                "\"ratio_to\": \"v:workload.w0.byte\"}") ==
        "x.json:5: expect.0.ratio_to: unknown metric \"workload.w0.byte\", did you mean "
        "\"workload.w0.bytes\"?");
}

TEST_CASE("a value in another unit than the metric's is an input error") {
  CHECK(failure(R"({"metric": "workload.w0.bytes", "equals": "1 us"})") ==
        "x.json:4: expect.0: expected a value to compare with a metric in B, found \"1 us\"");
  CHECK(passes(R"({"metric": "workload.w0.bytes", "equals": 10})"));
}

TEST_CASE("what belongs to a run that was not selected is left out") {
  ScenarioFile file = file_with(
      R"({"metric": "workload.w0.bytes", "equals": "99 B"},
         {"metric": "v:workload.w0.bytes", "equals": "15 B"},
         {"metric": "v:workload.w0.bytes", "at_most": 1, "ratio_to": "workload.w0.bytes"})");
  file.runs.erase(file.runs.begin());
  const std::vector<JudgedRun> runs = judge(file, {result_with(1, 15)});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].expectations.size() == 1);
  CHECK(runs[0].passed());
}

TEST_CASE("a violation fails its run unless it is expected") {
  const Violation deadlock{"deadlock", "w0", Time::us(1), "waits for ever"};
  RunResult broken = result_with(1, 1);
  broken.violations.push_back(deadlock);
  const ScenarioFile plain = file_with("");
  CHECK_FALSE(judge(plain, {broken, result_with(1, 1)})[0].passed());
  CHECK(judge(plain, {broken, result_with(1, 1)})[1].passed());

  const ScenarioFile expecting = file_with(R"({"violation": "deadlock", "at_least": 1})");
  CHECK(judge(expecting, {broken, result_with(1, 1)})[0].passed());
  CHECK(judge(expecting, {result_with(1, 1), broken})[1].passed());
  CHECK_FALSE(judge(expecting, {result_with(1, 1), result_with(1, 1)})[0].passed());

  broken.violations[0].kind = "conservation";
  CHECK_FALSE(judge(expecting, {broken, broken})[0].passed());
}

TEST_CASE("what a run without a proper end leaves unjudged is kept with the reason") {
  RunResult broken;
  broken.violations.push_back({"conservation", "fabric", Time(), "a packet too many"});
  broken.violations.push_back({"fault", "x (v)", Time(), "died"});
  const std::vector<JudgedRun> runs =
      judge(file_with(R"({"id": "own", "metric": "v:workload.w0.bytes", "equals": 1},
                         {"id": "other", "metric": "workload.w0.bytes", "equals": 1,
                          "ratio_to": "v:workload.w0.bytes"},
                         {"id": "good", "metric": "workload.w0.bytes", "equals": 10})"),
            {result_with(1, 10), broken});
  CHECK(runs[0].expectations.size() == 1);
  REQUIRE(runs[0].unjudged.size() == 1);
  CHECK(*runs[0].unjudged[0].spec.id == "other");
  CHECK(runs[0].unjudged[0].why == "fault at x (v): died");
  CHECK_FALSE(runs[1].judged);
  REQUIRE(runs[1].unjudged.size() == 1);
  CHECK(*runs[1].unjudged[0].spec.id == "own");
  CHECK_FALSE(runs[1].passed());
}

TEST_CASE("a violation that names a variant is expected in that run alone") {
  RunResult broken = result_with(1, 1);
  broken.violations.push_back({"deadlock", "w0", Time::us(1), "waits for ever"});
  const RunResult good = result_with(1, 1);

  const ScenarioFile of_v =
      file_with(R"({"violation": "deadlock", "variant": "v", "at_least": 1})");
  std::vector<JudgedRun> runs = judge(of_v, {good, broken});
  CHECK(runs[0].passed());
  CHECK(runs[0].expectations.empty());
  CHECK(runs[1].passed());
  CHECK(runs[1].expectations.at(0).measured == 1);
  runs = judge(of_v, {broken, broken});
  CHECK_FALSE(runs[0].passed());
  CHECK(runs[1].passed());
  runs = judge(of_v, {broken, good});
  CHECK_FALSE(runs[0].passed());
  CHECK_FALSE(runs[1].passed());

  const ScenarioFile of_base =
      file_with(R"({"violation": "deadlock", "variant": "", "at_least": 1})");
  runs = judge(of_base, {broken, good});
  CHECK(runs[0].passed());
  CHECK(runs[1].passed());
  runs = judge(of_base, {broken, broken});
  CHECK(runs[0].passed());
  CHECK_FALSE(runs[1].passed());

  ScenarioFile not_selected = of_v;
  not_selected.runs.pop_back();
  CHECK(judge(not_selected, {good})[0].passed());
}
