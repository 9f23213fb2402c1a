// SPDX-License-Identifier: MIT
// Ablations and curves: what of them is refused, and which runs they stand for.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "scenarios/engine/scenario_file.h"
#include "tests/support/scenario_text.h"

using namespace rnicsim;
using namespace rnicsim::test;

namespace {

const char* const kRows =
    R"(, "variants": [{"name": "v", "set": {"seed": 2}}, {"name": "w", "set": {"seed": 3}}],
"expect": [{"id": "A1", "metric": "m", "equals": 1},
           {"id": "A2", "metric": "v:m", "ratio_to": "m", "equals": 1},
           {"id": "A3", "metric": "w:m", "equals": 1, "missed": "x"},
           {"id": "A4", "violation": "deadlock", "at_least": 1}])";

std::string with_ablations(const std::string& ablations) {
  return text_of(kHosts, kWorkload, std::string(kRows) + ",\n\"ablate\": [" + ablations + "]");
}

ScenarioFile load(const std::string& ablations, const RunSelection& selection) {
  const std::string file = (std::filesystem::temp_directory_path() /
                            ("rnicsim_ablation_" + std::to_string(getpid()) + ".json"))
                               .string();
  std::ofstream(file) << with_ablations(ablations);
  TextPresets none;
  ScenarioFile loaded = load_scenario(file, selection, none);
  std::filesystem::remove(file);
  return loaded;
}

}  // namespace

TEST_CASE("an ablation is laid over each run that its rows need, and over no other") {
  const std::string text =
      R"({"name": "off", "set": {"engine.payload": "elided"}, "fails": ["A2"]})";
  const ScenarioFile file = load(text, {{}, {}, true});
  CHECK(file.runs.size() == 3);
  REQUIRE(file.ablations.size() == 1);
  CHECK(file.ablations[0].spec.name == "off");
  const std::vector<Scenario>& runs = file.ablations[0].runs;
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].variant == "v");
  CHECK(runs[0].seed == 2);
  CHECK(runs[0].engine.payload == PayloadMode::kElided);
  CHECK(runs[1].variant.empty());
  CHECK(runs[1].seed == 1);
  CHECK(runs[1].engine.payload == PayloadMode::kElided);
}

TEST_CASE("an ablation runs by its name and never with all variants") {
  const std::string text =
      R"({"name": "off", "set": {"engine.payload": "elided"}, "fails": ["A1"]})";
  const ScenarioFile all = load(text, {});
  CHECK(all.runs.size() == 3);
  CHECK(all.ablations.empty());
  const ScenarioFile one = load(text, {{"off"}, {}});
  REQUIRE(one.runs.size() == 1);
  CHECK(one.runs[0].variant == "off");
  CHECK(one.runs[0].engine.payload == PayloadMode::kElided);
}

TEST_CASE("an ablation that proves nothing is refused at its place") {
  CHECK(failure(with_ablations(R"({"name": "o", "set": {}, "fails": ["A5"]})")) ==
        R"(x.json:6: ablate.0.fails.0: no expectation has the id "A5", did you mean "A1"?)");
  CHECK(failure(with_ablations(R"({"name": "o", "set": {}, "fails": ["A1", "A3"]})")) ==
        R"(x.json:6: ablate.0.fails.1: "A3" is missed without the ablation too)");
  CHECK(failure(with_ablations(R"({"name": "o", "set": {}, "fails": ["A4"]})")) ==
        R"(x.json:6: ablate.0.fails.0: "A4" is about a violation, not about a metric)");
  CHECK(failure(with_ablations(R"({"name": "v", "set": {}, "fails": ["A1"]})")) ==
        R"(x.json:6: ablate.0.name: "v" is already the name of a variant)");
  CHECK(failure(with_ablations(R"({"name": "o", "set": {}, "fails": []})"))
            .find("x.json:6: ablate.0.fails: ") == 0);
  CHECK(failure(with_ablations(R"({"name": "o", "set": {}, "fails": ["A1"]},
                                  {"name": "o", "set": {}, "fails": ["A1"]})")) ==
        R"(x.json:7: ablate.1.name: "o" is already the name of ablate.0)");
}

TEST_CASE("an ablation's values are read as a variant's are") {
  CHECK(failure(with_ablations(R"({"name": "o", "set": {"seedd": 1}, "fails": ["A1"]})"),
                {"", {}, "o"})
            .find("x.json:6: seedd: ") == 0);
  CHECK(failure(with_ablations(R"({"name": "off", "set": {}, "fails": ["A1"]})"), {"", {}, "of"}) ==
        R"(x.json: ablate: unknown ablation "of", did you mean "off"?)");
}

TEST_CASE("the points of one curve have one unit") {
  CHECK(failure(text_of(kHosts, kWorkload, R"(, "expect": [
    {"id": "a", "metric": "m", "equals": 1, "curve": "c", "at": "64 B"},
    {"id": "b", "metric": "m", "equals": 1, "curve": "d", "at": 64},
    {"id": "c", "metric": "m", "equals": 1, "curve": "c", "at": 64}])")) ==
        R"(x.json:4: expect.2.at: is in another unit than "64 B", a point of the same curve)");
}
