// SPDX-License-Identifier: MIT
#include "tools/export/study_views.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/export/page.h"
#include "tools/rnicsim/study_progress.h"

using namespace rnicsim;

namespace {

/// Two sizes on two NICs, of which the last point failed.
StudyResult example() {
  const JsonNode document = parse_json(
      R"({"base": "x", "title": "A study",
          "axes": [{"path": "w.size", "values": ["1 KiB", "2 KiB"]},
                   {"name": "nic", "path": "n", "values": ["a,b", "c"]}],
          "metrics": [{"name": "speed", "metric": "workload.w0.goodput", "better": "more"}],
          "cost": {"name": "SRAM", "unit": "B", "expression": "1"}})",
      "s.json");
  StudySpec spec;
  read_config(document, spec);
  StudyResult result;
  result.name = "s";
  result.plan = StudyPlan(document, spec);
  result.metrics = {{result.plan.spec().metrics[0], "b/s"}};
  for (std::size_t i = 0; i < 4; ++i) {
    StudyRow row;
    row.point = result.plan.point(i);
    row.key = "key" + std::to_string(i);
    row.cost = i < 2 ? 100 : 200;
    row.values = {1e9 * static_cast<double>(i + 1)};
    result.rows.push_back(row);
  }
  result.rows[3].values[0].reset();
  result.rows[3].error = "deadlock at \"A\": </script>";
  return result;
}

nlohmann::json document() {
  const StudyResult result = example();
  return nlohmann::json::parse(study_json(result, verdict_of(result)));
}

}  // namespace

TEST_CASE("The CSV of a study has a line for each point, a failed one too") {
  CHECK(study_csv(example()) ==
        "size,nic,repeat,SRAM,speed,error\n"
        "1 KiB,\"a,b\",0,100,1000000000,\n"
        "1 KiB,c,0,100,2000000000,\n"
        "2 KiB,\"a,b\",0,200,3000000000,\n"
        "2 KiB,c,0,200,,\"deadlock at \"\"A\"\": </script>\"\n");
}

TEST_CASE("The document of a study names its axes, metrics and points") {
  const nlohmann::json json = document();
  CHECK(json["format"] == "rnicsim-study");
  CHECK(json["version"] == 2);
  CHECK(json["axes"][0] ==
        nlohmann::json({{"name", "size"}, {"paths", {"w.size"}}, {"values", {"1 KiB", "2 KiB"}}}));
  CHECK(json["metrics"][0]["unit"] == "b/s");
  CHECK(json["points"][1] == nlohmann::json({{"index", 1},
                                             {"key", "key1"},
                                             {"axes", {{"size", "1 KiB"}, {"nic", "c"}}},
                                             {"repeat", 0},
                                             {"cost", 100},
                                             {"metrics", {{"speed", 2'000'000'000}}}}));
  CHECK(json["points"][3]["metrics"]["speed"].is_null());
  CHECK(json["points"][3]["error"] == "deadlock at \"A\": </script>");
}

TEST_CASE("The verdict stands in the document in numbers and in sentences") {
  const nlohmann::json verdict = document()["verdict"][0];
  CHECK(verdict["metric"] == "speed");
  const nlohmann::json size = verdict["dimensions"][0];
  CHECK(size["scale"] == "doubling");
  CHECK(size["steps"][0] == nlohmann::json({{"from", 0},  // of the one line that has both ends
                                            {"to", 1},
                                            {"gain", 2},
                                            {"per_doubling", 2},
                                            {"half_width", nullptr},
                                            {"least", 2},
                                            {"most", 2},
                                            {"from_zero", false}}));
  CHECK(verdict["cells"].size() == 3);
  CHECK(size["along"] == "size");
  CHECK(size["enough_everywhere"].is_null());
  CHECK(verdict["combinations"] == 4);
  CHECK(verdict["paid"] == nlohmann::json::array({0}));
  CHECK(verdict["offers"][1] == nlohmann::json({{"at", {1}}, {"mean", 3e9}, {"cost", 200}}));
  CHECK(verdict["pareto"] == nlohmann::json::array({0, 1}));
  CHECK(verdict["sentences"].size() == 5);
}

TEST_CASE("The summary has the sentences and says how many points failed") {
  const StudyResult result = example();
  const std::string text = study_summary(result, verdict_of(result), {});
  CHECK(text.rfind("A study\n\nspeed\n  speed still improves at the end of size: ", 0) == 0);
  CHECK(text.find("\n4 points, 1 of which failed\n") != std::string::npos);
}

TEST_CASE("A gain from 0 is no number, and the document says why") {
  StudyResult result = example();
  for (StudyRow& row : result.rows) row.values = {row.point.positions[0] == 0 ? 0.0 : 1e9};
  const nlohmann::json json = nlohmann::json::parse(study_json(result, verdict_of(result)));
  CHECK(json["verdict"][0]["dimensions"][0]["steps"][0] ==
        nlohmann::json({{"from", 0},
                        {"to", 1},
                        {"gain", nullptr},
                        {"per_doubling", nullptr},
                        {"half_width", nullptr},
                        {"least", nullptr},
                        {"most", nullptr},
                        {"from_zero", true}}));
}

TEST_CASE("Warnings stand in the document and in the summary") {
  StudyResult result = example();
  CHECK(document()["warnings"] == nlohmann::json::array());
  result.warnings = {"speed: no point has the metric \"x\""};
  CHECK(nlohmann::json::parse(study_json(result, {}))["warnings"] ==
        nlohmann::json(result.warnings));
  CHECK(study_summary(result, {}, {}).find("\nwarning: speed: no point has the metric \"x\"\n") !=
        std::string::npos);
}

TEST_CASE("Programs get an axis's values as they are, people get six digits") {
  const JsonNode axes = parse_json(
      R"({"base": "x", "axes": [{"path": "w.rate", "log": {"from": 0.1, "to": 1.0, "steps": 3}}],
          "metrics": [{"name": "speed", "metric": "m", "better": "more"}]})",
      "s.json");
  StudySpec spec;
  read_config(axes, spec);
  StudyResult result;
  result.plan = StudyPlan(axes, spec);
  result.metrics = {{result.plan.spec().metrics[0], "b/s"}};
  for (std::size_t i = 0; i < 3; ++i) {
    StudyRow row;
    row.point = result.plan.point(i);
    row.values = {1.0 + static_cast<double>(i)};
    result.rows.push_back(row);
  }
  const std::string& middle = result.plan.axes()[0].labels[1];
  CHECK(std::stod(middle) == 0.1 * std::pow(1.0 / 0.1, 0.5));
  CHECK(study_csv(result) == "rate,repeat,speed,error\n0.1,0,1,\n" + middle + ",0,2,\n1,0,3,\n");
  const nlohmann::json json = nlohmann::json::parse(study_json(result, verdict_of(result)));
  CHECK(json["axes"][0]["values"][1] == middle);
  CHECK(json["verdict"][0]["dimensions"][0]["labels"][1] == "0.316228");
}

TEST_CASE("The page of a study holds its document and nothing that ends it early") {
  const StudyResult result = example();
  const std::string page = study_html(result, verdict_of(result));
  CHECK(page.find("PAGE_DOCUMENT") == std::string::npos);
  CHECK(page.find("deadlock at \\\"A\\\": \\u003c/script>") != std::string::npos);
  CHECK(page.find(chart_library()) != std::string::npos);
}

TEST_CASE("Progress says what is done, what runs, how fast, and how long it will take") {
  CHECK(progress_text({10, 2, 40}, 5) ==
        "[#####---------------] 10 of 40 points, 2 running, 2/s, 15 s left");
  CHECK(progress_text({0, 2, 40}, 5) == "[--------------------] 0 of 40 points, 2 running");
  CHECK(progress_text({1, 1, 1000}, 1) ==
        "[--------------------] 1 of 1000 points, 1 running, 1/s, 17 min left");
  CHECK(progress_text({1, 1, 100000}, 1) ==
        "[--------------------] 1 of 100000 points, 1 running, 1/s, 28 h left");
}
