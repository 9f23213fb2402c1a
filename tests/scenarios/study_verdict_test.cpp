// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_verdict.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "scenarios/engine/study_statistics.h"

using namespace rnicsim;

namespace {

using Texts = std::vector<std::string>;

constexpr const char* kEntries = R"({"name": "entries", "path": "e", "values": [16, 32, 64, 128]})";
constexpr const char* kNic = R"({"name": "nic", "path": "n", "values": ["old", "new"]})";

/// A study of those axes; the value of a point is what `value_of` makes of its positions and
/// repeat.
StudyResult study(
    const std::string& axes, const std::string& better,
    const std::function<double(const std::vector<std::size_t>&, std::uint32_t)>& value_of,
    const std::string& more = "") {
  const JsonNode document =
      parse_json("{\"base\": \"x\", " + more + "\"axes\": [" + axes +
                     "], \"metrics\": [{\"name\": \"speed\", \"metric\": \"m\", \"better\": \"" +
                     better + "\"}]}",
                 "s.json");
  StudySpec spec;
  read_config(document, spec);
  StudyResult result;
  result.plan = StudyPlan(document, spec);
  result.metrics = {{result.plan.spec().metrics[0], "b/s"}};
  for (std::size_t i = 0; i < result.plan.size(); ++i) {
    StudyRow row;
    row.point = result.plan.point(i);
    row.values = {value_of(row.point.positions, row.point.repeat)};
    if (result.plan.spec().cost) row.cost = 100.0 * static_cast<double>(1 + row.point.positions[0]);
    result.rows.push_back(row);
  }
  return result;
}

double saturating(const std::vector<std::size_t>& at, std::uint32_t /*repeat*/) {
  constexpr double kValues[] = {100, 190, 199, 200};
  return kValues[at[0]];
}

}  // namespace

TEST_CASE("Of a curve that saturates, the knee and where more stops to help are found") {
  const MetricVerdict verdict = verdict_of(study(kEntries, "more", saturating)).at(0);
  const DimensionVerdict& entries = verdict.dimensions.at(0);
  CHECK(entries.grows);
  CHECK(*entries.gains[0] == Approx(0.9));
  CHECK(*entries.gains[1] == Approx(9.0 / 190));
  CHECK(entries.knee == 1U);
  CHECK(entries.enough == 1U);
  CHECK(entries.best == 3U);
  CHECK(verdict.sentences ==
        Texts{"Past entries = 32, more buys less than 5 % of speed a step; the knee is at 32."});
}

TEST_CASE("Of a metric of which less is better a fall is the gain") {
  const auto latency = [](const std::vector<std::size_t>& at, std::uint32_t) {
    constexpr double kValues[] = {400, 200, 100, 50};
    return kValues[at[0]];
  };
  const MetricVerdict verdict = verdict_of(study(kEntries, "less", latency)).at(0);
  CHECK(*verdict.dimensions[0].gains[2] == Approx(0.5));
  CHECK_FALSE(verdict.dimensions[0].enough.has_value());
  CHECK(verdict.sentences.at(0) ==
        "speed still gains at the end of entries: the last step, from 64 to 128, makes it 50 % "
        "better; "
        "the knee is at 32.");
}

TEST_CASE("Where no step helps, the sentence says so, and what gets worse") {
  const auto worse = [](const std::vector<std::size_t>& at, std::uint32_t) {
    return at[0] == 3 ? 50.0 : 100.0;
  };
  const MetricVerdict verdict = verdict_of(study(kEntries, "more", worse)).at(0);
  CHECK(verdict.dimensions[0].enough == 0U);
  CHECK(verdict.sentences.at(0) ==
        "No step of entries makes speed 5 % better; from 64 to 128 it gets 50 % worse.");
}

TEST_CASE("Dimensions are ranked by the share of the variance that they explain") {
  const auto both = [](const std::vector<std::size_t>& at, std::uint32_t) {
    return 100.0 + static_cast<double>(at[0]) + 50.0 * static_cast<double>(at[1]);
  };
  const std::string axes = std::string(kEntries) + ',' + kNic;
  const MetricVerdict verdict = verdict_of(study(axes, "more", both)).at(0);
  CHECK(verdict.ranking == std::vector<std::size_t>{1, 0});
  CHECK(verdict.dimensions[0].effect == Approx(1.25 / 626.25));
  CHECK(verdict.dimensions[1].effect == Approx(625 / 626.25));
  CHECK_FALSE(verdict.dimensions[1].grows);
  CHECK(verdict.sentences.at(1) == "speed is best with nic = new: 1.49 times that of old.");
  CHECK(verdict.sentences.at(2) ==
        "What speed depends on: nic (100 % of its variance), entries (0.2 % of its variance).");
}

TEST_CASE("The Pareto front holds what is not beaten in value and cost at once") {
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t) {
    constexpr double kValues[] = {100, 90, 150, 150};
    return kValues[at[0]];
  };
  const MetricVerdict verdict =
      verdict_of(study(kEntries, "more", value,
                       R"("cost": {"name": "SRAM", "unit": "B", "expression": "1"},)"))
          .at(0);
  CHECK(verdict.pareto == std::vector<std::size_t>{0, 2});
  CHECK(verdict.sentences.at(1) ==
        "2 of 4 points are worth the SRAM: 100 B (entries 16); 300 B (entries 64).");
}

TEST_CASE("Repeats make one cell with a confidence interval") {
  const auto noisy = [](const std::vector<std::size_t>&, std::uint32_t repeat) {
    return 100.0 + static_cast<double>(repeat);
  };
  const MetricVerdict verdict = verdict_of(study(kEntries, "more", noisy, "\"repeats\": 3,")).at(0);
  REQUIRE(verdict.cells.size() == 4);
  CHECK(verdict.cells[0].runs == 3);
  CHECK(verdict.cells[0].mean == 101);
  CHECK(*verdict.cells[0].half_width == Approx(4.303 / std::sqrt(3.0)));
  CHECK(verdict.sentences.back() ==
        "Each mean's own 95 % confidence interval reaches at most 2.5 % to either side.");
}

TEST_CASE("A point without a value leaves a gap, and other lines still tell the step") {
  StudyResult result =
      study(std::string(kEntries) + ',' + kNic, "more",
            [](const auto& at, std::uint32_t repeat) { return saturating(at, repeat); });
  result.rows[2].values[0].reset();  // entries 32 with the old one
  const MetricVerdict verdict = verdict_of(result).at(0);
  CHECK(verdict.cells.size() == 7);
  CHECK(*verdict.dimensions[0].gains[0] == Approx(0.9));
  CHECK(verdict.dimensions[0].enough == 1U);
}

TEST_CASE("A metric without any value says so") {
  StudyResult result = study(kEntries, "more", saturating);
  for (StudyRow& row : result.rows) row.values[0].reset();
  CHECK(verdict_of(result).at(0).sentences == Texts{"No point has a value of speed."});
}

TEST_CASE("A straight line and a fall have no knee") {
  CHECK_FALSE(knee_of({1, 2, 3, 4}, 0.05).has_value());
  CHECK_FALSE(knee_of({4, 3, 2, 1}, 0.05).has_value());
  CHECK_FALSE(knee_of({1, 2}, 0.05).has_value());
  CHECK(knee_of({0, 8, 9, 10}, 0.05) == 1U);
}

TEST_CASE("Enough is where every later step gains too little, not the first that does") {
  CHECK(enough_of({0.5, 0.01, 0.2, 0.01, 0.02}, 0.05) == 3U);
  CHECK(enough_of({0.01, 0.02}, 0.05) == 0U);
  CHECK_FALSE(enough_of({0.01, 0.2}, 0.05).has_value());
}

TEST_CASE("Few runs make wide intervals and one makes none") {
  CHECK_FALSE(half_width_of({5}).has_value());
  CHECK(*half_width_of({0, 2}) == Approx(12.706));
  CHECK(*half_width_of({3, 3, 3}) == 0);
}
