// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_verdict.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

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

/// Of a study of one axis with those values, as the file gives them, and a metric with these.
MetricVerdict along(const std::string& axis, const std::string& better,
                    const std::vector<double>& values) {
  const std::string axes = R"({"name": "entries", "path": "e", "values": )" + axis + "}";
  const auto value = [&](const std::vector<std::size_t>& at, std::uint32_t) {
    return values[at[0]];
  };
  return verdict_of(study(axes, better, value)).at(0);
}

/// The first sentence on it.
std::string said(const std::string& axis, const std::string& better,
                 const std::vector<double>& values) {
  return along(axis, better, values).sentences.at(0);
}

constexpr const char* kDoublings = "[16, 32, 64, 128]";

}  // namespace

TEST_CASE("Of a curve that saturates, the knee and where more stops to help are found") {
  const MetricVerdict verdict = verdict_of(study(kEntries, "more", saturating)).at(0);
  const DimensionVerdict& entries = verdict.dimensions.at(0);
  CHECK(entries.scale == StepScale::kDoubling);
  CHECK(entries.steps[0].mean->gain == Approx(0.9));
  CHECK(entries.steps[1].mean->gain == Approx(9.0 / 190));
  CHECK(*entries.steps[1].mean->per_doubling == Approx(9.0 / 190));
  CHECK(entries.knee == 1U);
  CHECK(entries.enough == 1U);
  CHECK(entries.best == 3U);
  CHECK(verdict.sentences ==
        Texts{"Past entries = 32, more improves speed by less than 5 % per doubling; the knee is "
              "at 32; all steps from 32 to 128, the best, together make it 5.3 % higher."});
}

TEST_CASE("Of a metric of which less is better a fall is the gain, and is called a fall") {
  const MetricVerdict verdict = along(kDoublings, "less", {400, 200, 100, 50});
  CHECK(verdict.dimensions[0].steps[2].mean->gain == Approx(0.5));
  CHECK_FALSE(verdict.dimensions[0].enough.has_value());
  CHECK(verdict.sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, makes it 50 % "
        "lower; the knee is at 32.");
  CHECK(said(kDoublings, "less", {50, 50, 50, 150}) ==
        "speed is best at the least entries, 16; the step from 64 to 128 makes it 3 times as "
        "high.");
  CHECK(said(kDoublings, "less", {400, 399, 398, 0.1}) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, makes it over "
        "99 % lower.");
}

TEST_CASE("A fall to 0 is called so, and nothing is left to gain past it") {
  const MetricVerdict verdict = along(kDoublings, "less", {400, 0, 0, 0});
  const DimensionVerdict& entries = verdict.dimensions[0];
  CHECK(entries.steps[0].mean->gain == 1);
  CHECK(entries.steps[1].mean->gain == 0);
  CHECK(entries.enough == 1U);
  CHECK(entries.knee == 1U);
  CHECK(verdict.sentences.at(0) ==
        "Past entries = 32, more improves speed by less than 5 % per doubling; the knee is at 32.");
  CHECK(said(kDoublings, "less", {400, 390, 380, 0}) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, brings it to "
        "0.");
  CHECK(said(kDoublings, "more", {400, 400, 400, 0}) ==
        "speed is best at the least entries, 16; the step from 64 to 128 brings it to 0.");
}

TEST_CASE("A step from 0 gains more than any threshold, or loses more") {
  const MetricVerdict rising = along(kDoublings, "more", {0, 0, 0, 5});
  CHECK(rising.dimensions[0].steps[0].mean->gain == 0);
  CHECK(std::isinf(rising.dimensions[0].steps[2].mean->gain));
  CHECK(std::isinf(*rising.dimensions[0].steps[2].mean->per_doubling));
  CHECK(rising.sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, raises it from "
        "0.");
  const MetricVerdict early = along(kDoublings, "more", {0, 100, 101, 102});
  CHECK(early.dimensions[0].enough == 1U);
  CHECK(early.dimensions[0].knee == 1U);
  CHECK(said(kDoublings, "less", {0, 0, 0, 5}) ==
        "speed is best at the least entries, 16; the step from 64 to 128 raises it from 0.");
}

TEST_CASE("What more buys is told per doubling, however finely the axis is divided") {
  const auto root = [](const std::vector<double>& entries) {
    std::vector<double> values;
    values.reserve(entries.size());
    for (const double of : entries) values.push_back(std::pow(of, 0.1));
    return values;
  };
  // 7.2 % a doubling, whether a step is a quarter of one or two.
  const MetricVerdict fine =
      along("[1.0, 1.19, 1.41, 1.68, 2.0]", "more", root({1, 1.19, 1.41, 1.68, 2}));
  const MetricVerdict coarse = along("[1, 4, 16]", "more", root({1, 4, 16}));
  for (const MetricVerdict* verdict : {&fine, &coarse})
    for (const StudyStep& step : verdict->dimensions[0].steps)
      CHECK(*step.mean->per_doubling == Approx(std::pow(2, 0.1) - 1));
  CHECK(fine.dimensions[0].steps[0].mean->gain < kWorthwhileGain);
  CHECK_FALSE(fine.dimensions[0].enough.has_value());
  CHECK(coarse.sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 4 to 16, makes it 15 % "
        "higher, which is 7.2 % higher per doubling.");
  CHECK(fine.sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 1.68 to 2, makes it 1.8 "
        "% higher.");
  // The other way round: 8 % over four doublings are not worth them.
  CHECK(said("[1, 16]", "more", {100, 108}) ==
        "Nowhere does more entries improve speed by 5 % per doubling; the step to 16 makes it 8 % "
        "higher.");
  CHECK(said("[1, 4, 16]", "less", {100, 92, 85}) ==
        "Nowhere does more entries improve speed by 5 % per doubling; all steps to 16, the best, "
        "together make it 15 % lower.");
}

TEST_CASE("Small gains that add up are not called no difference") {
  std::string axis;
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) {
    axis += (i == 0 ? "[" : ", ") + std::to_string(1000 + i);
    values.push_back(100 + 0.05 * i);
  }
  const std::string text = said(axis + "]", "more", values);
  CHECK(text ==
        "speed still improves at the end of entries: the last step, from 1198 to 1199, makes it "
        "under 0.1 % higher.");
  CHECK(said(kDoublings, "more", {100, 100.01, 100.02, 100.01}) ==
        "entries makes no difference to speed.");
}

TEST_CASE("Where values are not all above 0 steps are judged by themselves, and it is said") {
  const MetricVerdict verdict = along("[\"0 us\", \"4 us\", \"64 us\"]", "more", {100, 120, 122});
  CHECK(verdict.dimensions[0].scale == StepScale::kStep);
  CHECK_FALSE(verdict.dimensions[0].steps[0].mean->per_doubling.has_value());
  CHECK(verdict.dimensions[0].enough == 1U);
  CHECK(verdict.sentences.at(0) ==
        "Past entries = 4 us, more improves speed by less than 5 % per step; the knee is at 4 us.");
}

TEST_CASE("An axis that descends in the file is judged as one that ascends") {
  const MetricVerdict verdict = along("[128, 64, 32, 16]", "more", {200, 199, 190, 100});
  const DimensionVerdict& entries = verdict.dimensions[0];
  CHECK(entries.order == std::vector<std::size_t>{3, 2, 1, 0});
  CHECK(entries.steps[0].from == 3);
  CHECK(entries.steps[0].to == 2);
  CHECK(entries.enough == 2U);
  CHECK(entries.knee == 2U);
  CHECK(verdict.sentences == along(kDoublings, "more", {100, 190, 199, 200}).sentences);
}

TEST_CASE("Presets have a best and a worst, and the sentence says why there is no knee") {
  const std::string presets = R"(["fast", "slow", "slower"])";
  const MetricVerdict verdict = along(presets, "less", {10, 20, 25});
  CHECK(verdict.dimensions[0].scale == StepScale::kChoice);
  CHECK(verdict.dimensions[0].steps.empty());
  CHECK(verdict.dimensions[0].best == 0U);
  CHECK(verdict.sentences.at(0) ==
        "speed is best with entries = fast; with slower, the worst, it is 2.5 times as high; "
        "entries has no order, and so no knee.");
  CHECK(said(presets, "more", {10, 20, 25}) ==
        "speed is best with entries = slower: 2.5 times as high as with fast, the worst; entries "
        "has no order, and so no knee.");
  CHECK(said(presets, "less", {0, 20, 25}) ==
        "speed is best with entries = fast, where it is 0; the worst is slower; entries has no "
        "order, and so no knee.");
  CHECK(said(presets, "more", {0, 20, 25}) ==
        "speed is best with entries = slower; the worst is fast, where it is 0; entries has no "
        "order, and so no knee.");
}

TEST_CASE("A metric that is neither good nor bad is described and not judged") {
  const MetricVerdict verdict = along(kDoublings, "none", {100, 200, 300, 400});
  CHECK(verdict.dimensions[0].steps.empty());
  CHECK_FALSE(verdict.dimensions[0].best.has_value());
  CHECK(verdict.dimensions[0].effect == Approx(1));
  CHECK(verdict.sentences ==
        Texts{"speed is highest with entries = 128: 4 times as high as with 16, the lowest."});
}

TEST_CASE("A metric that never changes is told in one sentence") {
  CHECK(along(kDoublings, "less", {0, 0, 0, 0}).sentences ==
        Texts{"speed is the same at every point."});
}

TEST_CASE("Where no step helps, the sentence says so, and what gets worse") {
  const MetricVerdict verdict = along(kDoublings, "more", {100, 101, 101, 50});
  CHECK(verdict.dimensions[0].enough == 0U);
  CHECK(verdict.sentences.at(0) ==
        "Nowhere does more entries improve speed by 5 % per doubling; but the step from 64 to 128 "
        "makes it 50 % lower; from 32, the best, to 128 it goes from 101 b/s to 50 b/s, 50 % "
        "lower.");
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
  CHECK(
      verdict.sentences.at(1) ==
      "speed is on average best with nic = new: 1.49 times as high as with old; nic has no order, "
      "and so no knee.");
  CHECK(verdict.sentences.at(2) ==
        "What speed depends on: nic (100 % of its variance), entries (0.2 % of its variance).");
}

TEST_CASE("Shares of next to nothing are not passed off as much") {
  const auto both = [](const std::vector<std::size_t>& at, std::uint32_t) {
    return 100.0 + static_cast<double>(at[1]);
  };
  const std::string axes = std::string(kEntries) + ',' + kNic;
  CHECK(verdict_of(study(axes, "more", both)).at(0).sentences.at(2) ==
        "What speed depends on, though it varies by 1 % only: nic (100 % of its variance), entries "
        "(0 % of its variance).");
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
        "On the Pareto front of speed against SRAM are 2 of 4 points: 100 B (entries 16); 300 B "
        "(entries 64).");
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
  CHECK(verdict.dimensions[0].comparable);
  CHECK(verdict.dimensions[0].steps[0].mean->gain == Approx(0.9));
  CHECK(verdict.dimensions[0].enough == 1U);
  CHECK(verdict.sentences.back() == "1 of 8 runs have no value of speed.");
}

TEST_CASE("Means of different points are not compared: there is no knee, and it is said why") {
  StudyResult result = study(
      std::string(kEntries) + ',' + kNic, "more",
      [](const auto& at, std::uint32_t repeat) { return (at[1] + 1.0) * saturating(at, repeat); });
  result.rows[0].values[0].reset();  // entries 16 with the old one
  result.rows[7].values[0].reset();  // entries 128 with the new one
  const MetricVerdict verdict = verdict_of(result).at(0);
  const DimensionVerdict& entries = verdict.dimensions[0];
  CHECK_FALSE(entries.comparable);
  CHECK_FALSE(entries.knee.has_value());
  CHECK(entries.steps[0].mean->gain == Approx(0.9));
  CHECK(entries.steps[2].mean->gain == Approx(1.0 / 199));
  CHECK(entries.enough == 1U);
  CHECK(verdict.sentences.at(0) ==
        "Past entries = 32, more improves speed by less than 5 % per doubling.");
  CHECK(verdict.sentences.at(1) ==
        "No setting of the other axes has a value at every entries: each step is judged by those "
        "that have both its ends.");
  // Now nothing has both ends of the second step.
  result.rows[2].values[0].reset();
  result.rows[5].values[0].reset();
  CHECK(verdict_of(result).at(0).sentences.at(1) ==
        "No setting of the other axes has a value at every entries: its means are not of the same "
        "points.");
}

TEST_CASE("Positions that a filter leaves out do not spoil the verdict on the others") {
  StudyResult result =
      study(std::string(kEntries) + ',' + kNic, "more",
            [](const auto& at, std::uint32_t repeat) { return saturating(at, repeat); });
  result.rows.erase(result.rows.begin() + 2, result.rows.begin() + 4);  // all of entries 32
  const DimensionVerdict entries = verdict_of(result).at(0).dimensions[0];
  CHECK(entries.comparable);
  CHECK(entries.order == std::vector<std::size_t>{0, 2, 3});
  CHECK(entries.steps[0].mean->gain == Approx(0.99));
  CHECK(*entries.steps[0].mean->per_doubling == Approx(std::sqrt(1.99) - 1));
  CHECK(entries.enough == 2U);
}

TEST_CASE("Where only some lines leave 0, a step's gain is that of all lines together") {
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t) {
    if (at[1] == 0) return at[0] == 0 ? 0.0 : 10.0;
    return 100.0;
  };
  const std::string axes = std::string(kEntries) + ',' + kNic;
  const DimensionVerdict entries = verdict_of(study(axes, "more", value)).at(0).dimensions[0];
  CHECK(entries.steps[0].mean->gain == Approx(0.1));
  CHECK(entries.steps[1].mean->gain == 0);
}

TEST_CASE("A metric without any value says so") {
  StudyResult result = study(kEntries, "more", saturating);
  for (StudyRow& row : result.rows) row.values[0].reset();
  CHECK(verdict_of(result).at(0).sentences == Texts{"No point has a value of speed."});
}

TEST_CASE("A straight line and a fall have no knee") {
  const auto knee = [](const std::vector<double>& heights) {
    std::vector<CurvePoint> curve;
    for (std::size_t i = 0; i < heights.size(); ++i)
      curve.push_back({static_cast<double>(i), heights[i]});
    return knee_of(curve, 0.05);
  };
  CHECK_FALSE(knee({1, 2, 3, 4}).has_value());
  CHECK_FALSE(knee({4, 3, 2, 1}).has_value());
  CHECK_FALSE(knee({1, 2}).has_value());
  CHECK(knee({0, 8, 9, 10}) == 1U);
  CHECK_FALSE(knee_of({{0, 0}, {8, 8}, {9, 9}, {10, 10}}, 0.05).has_value());
}

TEST_CASE("Changes are parts of what was, and made of equal ones a doubling") {
  CHECK(relative_change(100, 150) == 0.5);
  CHECK(relative_change(-100, -150) == -0.5);
  CHECK(relative_change(100, 0) == -1);
  CHECK(relative_change(0, 0) == 0);
  CHECK(relative_change(0, -3) == -std::numeric_limits<double>::infinity());
  CHECK(mean_change({{100, 150}, {10, 20}}) == 0.75);
  CHECK(mean_change({{0, 0}, {10, 20}}) == 0.5);
  CHECK(mean_change({{0, 30}, {10, 20}}) == 4);
  CHECK(std::isinf(mean_change({{0, 30}, {0, 0}})));
  CHECK(change_per_doubling(3, 2) == Approx(1));
  CHECK(change_per_doubling(0.2, 0.5) == Approx(0.44));
  CHECK(change_per_doubling(-1, 3) == -1);
  CHECK(change_per_doubling(-3, 3) == -1);
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

namespace {

constexpr const char* kTwoLatencies =
    R"({"name": "latency", "path": "l", "values": ["25 ns", "2 us"]})";

/// Of four entries with two latencies, and with each a metric with those values.
MetricVerdict on_lines(const std::string& better, const std::vector<double>& first,
                       const std::vector<double>& second) {
  const auto value = [&](const std::vector<std::size_t>& at, std::uint32_t) {
    return (at[1] == 0 ? first : second)[at[0]];
  };
  return verdict_of(study(std::string(kEntries) + ',' + kTwoLatencies, better, value)).at(0);
}

}  // namespace

TEST_CASE("What differs from line to line is called an average, with its range") {
  const MetricVerdict verdict = on_lines("more", {100, 100, 100, 100}, {50, 60, 70, 133});
  const StudyStep& last = verdict.dimensions[0].steps[2];
  CHECK(last.mean->gain == Approx(0.45));
  CHECK(last.least->gain == 0);
  CHECK(last.most->gain == Approx(0.9));
  CHECK(verdict.dimensions[0].lines[last.most->line].at[1] == 1);
  CHECK(verdict.sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, on average "
        "makes it 45 % higher (0 % to 90 %, by latency).");
  CHECK(on_lines("more", {100, 100, 100, 100}, {0, 0, 0, 10}).sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, on average "
        "makes it 10 % higher (no change to a rise from 0, by latency).");
  CHECK(on_lines("less", {100, 100, 100, 110}, {50, 50, 50, 10}).sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, on average "
        "makes it 35 % lower (10 % higher to 80 % lower, by latency); but with latency 25 ns the "
        "step from 64 to 128 makes it 10 % higher.");
}

TEST_CASE("More is said to be useless only past where it is so on every line") {
  const MetricVerdict verdict = on_lines("more", {100, 100, 100, 100}, {100, 120, 128, 129});
  CHECK(verdict.dimensions[0].enough == 1U);
  CHECK(verdict.dimensions[0].enough_everywhere == 2U);
  CHECK(verdict.sentences.at(0) ==
        "Past entries = 64, more improves speed by less than 5 % per doubling; on average that "
        "holds past 32 already, but with latency 2 us the step from 32 to 64 makes it 6.7 % "
        "higher; the knee of the average is at 32.");
  CHECK(on_lines("more", {100, 100, 100, 100}, {100, 107, 108, 109}).sentences.at(0) ==
        "Past entries = 32, more improves speed by less than 5 % per doubling; on average that "
        "holds everywhere already, but with latency 2 us the step from 16 to 32 makes it 7 % "
        "higher.");
  const MetricVerdict late = on_lines("more", {100, 100, 100, 100}, {100, 120, 121, 130});
  CHECK_FALSE(late.dimensions[0].enough_everywhere.has_value());
  CHECK(late.sentences.at(0) ==
        "speed still improves at the end of entries with latency 2 us: the last step, from 64 to "
        "128, makes it 7.4 % higher; on average more improves it by less than 5 % per doubling "
        "past 32; the knee of the average is at 32.");
}

TEST_CASE("What the means hide on single lines is told") {
  CHECK(on_lines("more", {100, 104, 104, 104}, {100, 100, 100, 92}).sentences.at(0) ==
        "Nowhere does more entries improve speed by 5 % per doubling; but with latency 2 us the "
        "step from 64 to 128 makes it 8 % lower.");
  // Up on one line, down on the other.
  CHECK(on_lines("more", {100, 100, 100, 104}, {100, 100, 100, 96}).sentences.at(0) ==
        "Nowhere does more entries improve speed by 5 % per doubling.");
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t) {
    constexpr double kValues[2][2] = {{100, 150}, {100, 90}};
    return kValues[at[1]][at[0]];
  };
  CHECK(verdict_of(study(std::string(kNic) + ',' + kTwoLatencies, "more", value))
            .at(0)
            .sentences.at(0) ==
        "speed is on average best with nic = new: 1.2 times as high as with old; but with latency "
        "2 us it is better with old; nic has no order, and so no knee.");
}

TEST_CASE("Small losses that add up are told") {
  CHECK(said(kDoublings, "more", {100, 98, 95, 92}) ==
        "Nowhere does more entries improve speed by 5 % per doubling; from 16, the best, to 128 it "
        "goes from 100 b/s to 92 b/s, 8 % lower.");
  CHECK(said(kDoublings, "less", {100, 103, 106, 109}) ==
        "Nowhere does more entries improve speed by 5 % per doubling; from 16, the best, to 128 it "
        "goes from 100 b/s to 109 b/s, 9 % higher.");
  CHECK(said(kDoublings, "more", {100, 96, 96, 96}) ==
        "Nowhere does more entries improve speed by 5 % per doubling.");
}

TEST_CASE("The Pareto front is over what costs something, of means over the rest") {
  // The cost is of the entries: at 25 ns they are no use, at 2 us they are.
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t) {
    constexpr double kSlow[] = {10, 20, 15, 40};
    return at[1] == 0 ? 100 : kSlow[at[0]];
  };
  const std::string cost = R"("cost": {"name": "SRAM", "unit": "B", "expression": "1"},)";
  StudyResult result = study(std::string(kEntries) + ',' + kTwoLatencies, "more", value, cost);
  const MetricVerdict verdict = verdict_of(result).at(0);
  CHECK(verdict.paid == std::vector<std::size_t>{0});
  REQUIRE(verdict.offers.size() == 4);
  CHECK(verdict.offers[1].at == std::vector<std::size_t>{1});
  CHECK(verdict.offers[1].mean == 60);
  CHECK(verdict.offers[1].cost == 200);
  CHECK(verdict.pareto == std::vector<std::size_t>{0, 1, 3});
  CHECK(verdict.sentences.back() ==
        "On the Pareto front of speed, averaged over latency, against SRAM are 3 of 4 settings: "
        "100 B (entries 16); 200 B (entries 32); 400 B (entries 128).");
  // Without one value, only the other latency is complete.
  result.rows[0].values[0].reset();
  const MetricVerdict less = verdict_of(result).at(0);
  CHECK(less.offers[1].mean == 20);
  CHECK(
      less.sentences.back() ==
      "On the Pareto front of speed, averaged over 1 of 2 settings of latency (those with a value "
      "everywhere), against SRAM are 3 of 4 points: 100 B (entries 16); 200 B (entries 32); "
      "400 B (entries 128).");
  result.rows[3].values[0].reset();
  CHECK(verdict_of(result).at(0).offers.empty());
  CHECK(verdict_of(result).at(0).sentences.back() ==
        "There is no Pareto front of speed against SRAM: no setting of latency has a value at "
        "every entries.");
}

TEST_CASE("Where nothing changes the cost there is nothing to weigh against it") {
  StudyResult result = study(kEntries, "more", saturating,
                             R"("cost": {"name": "SRAM", "unit": "B", "expression": "1"},)");
  for (StudyRow& row : result.rows) row.cost = 7;
  const MetricVerdict verdict = verdict_of(result).at(0);
  CHECK(verdict.pareto.empty());
  CHECK(verdict.sentences.back() == "SRAM is the same at every point.");
}

TEST_CASE("A step's gain has the interval of its repeats, seed by seed, and may be noise") {
  // Seeds move all alike: the means are wide and the steps are sharp, until the last.
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t repeat) {
    constexpr double kLast[] = {30, -10, 10};
    return 100.0 * static_cast<double>(1 + at[0]) + 20.0 * repeat +
           (at[0] == 3 ? kLast[repeat] : 0);
  };
  const MetricVerdict verdict = verdict_of(study(kEntries, "more", value, "\"repeats\": 3,")).at(0);
  const std::vector<StudyStep>& steps = verdict.dimensions[0].steps;
  CHECK(steps[0].mean->gain == Approx(100.0 / 120));
  CHECK(*steps[0].mean->half_width == Approx(0).margin(1e-12));
  CHECK_FALSE(steps[0].mean->is_noise());
  CHECK(steps[2].mean->gain == Approx(110.0 / 320));
  CHECK(*steps[2].mean->half_width == Approx(4.303 * 20 / std::sqrt(3.0) / 320));
  const auto noisy = [](const std::vector<std::size_t>& at, std::uint32_t repeat) {
    return at[0] < 3 ? 100.0 * static_cast<double>(1 + at[0]) : 380.0 + 60.0 * (repeat - 1.0);
  };
  const MetricVerdict noise = verdict_of(study(kEntries, "more", noisy, "\"repeats\": 3,")).at(0);
  CHECK(noise.dimensions[0].steps[2].mean->is_noise());
  CHECK(noise.sentences.at(0) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, makes it 27 % "
        "higher, within the noise of the seeds.");
  CHECK(noise.sentences.back() ==
        "Other seeds might turn 1 of 3 steps round: their gains are within the noise.");
}

TEST_CASE("A repeat that lacks an end does not count for a step's interval") {
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t repeat) {
    return 100.0 * static_cast<double>(1 + at[0]) + repeat;
  };
  StudyResult result = study(kEntries, "more", value, "\"repeats\": 2,");
  result.rows[0].values[0].reset();
  const MetricVerdict verdict = verdict_of(result).at(0);
  CHECK_FALSE(verdict.dimensions[0].steps[0].mean->half_width.has_value());
  CHECK(verdict.dimensions[0].steps[1].mean->half_width.has_value());
  CHECK(verdict.sentences.back() ==
        "Each mean's own 95 % confidence interval reaches at most 3.2 % to either side; 1 has "
        "none.");
}

TEST_CASE("A mean of 0 has an interval as others do") {
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t repeat) {
    return at[0] == 0 ? 0.0 : 100.0 + repeat;
  };
  CHECK(verdict_of(study(kEntries, "more", value, "\"repeats\": 2,")).at(0).sentences.back() ==
        "Each mean's own 95 % confidence interval reaches at most 6.3 % to either side.");
}

TEST_CASE("A doubling of a zip is one of the axis that orders it") {
  const std::string zip = R"({"zip": [{"name": "nic", "path": "n", "values": ["a", "b"]},
                                      {"name": "payload", "path": "p", "values": [128, 512]}]})";
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t) {
    return at[0] == 0 ? 100.0 : 144.0;
  };
  const MetricVerdict verdict = verdict_of(study(zip, "more", value)).at(0);
  CHECK(verdict.dimensions[0].along == "payload");
  CHECK(verdict.sentences.at(0) ==
        "speed still improves at the end of nic+payload: the last step, from a / 128 to b / 512, "
        "makes it 44 % higher, which is 20 % higher per doubling of payload.");
}

TEST_CASE("Axes that go together are not ranked") {
  StudyResult result = study(
      std::string(kEntries) + ',' + kNic, "more",
      [](const auto& at, std::uint32_t repeat) { return (at[1] + 1.0) * saturating(at, repeat); });
  const std::vector<StudyRow> all = result.rows;
  result.rows = {all[0], all[3]};
  const std::vector<std::string> told = verdict_of(result).at(0).sentences;
  CHECK(told.back() ==
        "Only 2 of 4 combinations of the axes have a value: which axis speed depends on most is "
        "not to be told from them.");
  CHECK(std::none_of(told.begin(), told.end(), [](const std::string& text) {
    return text.find("of its variance") != std::string::npos;
  }));
}

TEST_CASE("A range of gains names the axes that its ends differ in, and no other") {
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t) {
    constexpr double kSlow[] = {100, 100, 100, 190};
    return at[1] == 0 ? 100.0 : kSlow[at[0]];
  };
  const std::string axes = std::string(kEntries) + ',' + kTwoLatencies + ',' + kNic;
  const std::vector<std::string> told = verdict_of(study(axes, "more", value)).at(0).sentences;
  CHECK(told.at(0) ==
        "speed still improves at the end of entries: the last step, from 64 to 128, on average "
        "makes it 45 % higher (0 % to 90 %, by latency).");
  CHECK(told.at(2) == "nic makes no difference to speed.");
}

TEST_CASE("Small differences between choices are told in percent") {
  CHECK(said(R"(["a", "b"])", "more", {100, 102}) ==
        "speed is best with entries = b: 2 % higher than with a; entries has no order, and so no "
        "knee.");
  CHECK(said(R"(["a", "b"])", "less", {100, 102}) ==
        "speed is best with entries = a; with b it is 2 % higher; entries has no order, and so no "
        "knee.");
}

TEST_CASE("A fall from the best to the last is called noise if the seeds may have made it") {
  const auto value = [](const std::vector<std::size_t>& at, std::uint32_t repeat) {
    constexpr double kMeans[] = {100, 98, 95, 92};
    return kMeans[at[0]] + (at[0] == 3 ? 10.0 * (repeat - 1.0) : 0);
  };
  const MetricVerdict verdict = verdict_of(study(kEntries, "more", value, "\"repeats\": 3,")).at(0);
  CHECK(verdict.dimensions[0].fall->gain == Approx(-0.08));
  CHECK(*verdict.dimensions[0].fall->half_width == Approx(4.303 * 0.1 / std::sqrt(3.0)));
  CHECK(verdict.sentences.at(0) ==
        "Nowhere does more entries improve speed by 5 % per doubling; from 16, the best, to 128 it "
        "goes from 100 b/s to 92 b/s, 8 % lower, within the noise of the seeds.");
}
