// SPDX-License-Identifier: MIT
#include "scenarios/engine/expectation_spec.h"

#include <catch2/catch.hpp>

#include "model/json_document.h"

using namespace rnicsim;

namespace {

/// The first expectation of a scenario with a variant "huge".
ExpectationSpec expectation(const std::string& members) {
  const JsonNode node = parse_json("{" + members + "}", "x.json");
  ExpectationSpec spec;
  read_config(node, spec, "expect.0");
  spec.interpret(node, "expect.0", {"huge"});
  return spec;
}

std::string expect_failure(const std::string& members) {
  try {
    expectation(members);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("expectations are read into bounds in the units of metrics") {
  ExpectationSpec e = expectation(R"("metric": "host.B.cpu.data.busy", "equals": "0 ns")");
  CHECK(e.relation == ExpectationSpec::Relation::kEquals);
  CHECK(e.low.value == 0);
  CHECK(e.low.unit == Unit::kPicoseconds);
  CHECK(e.measured.path == "host.B.cpu.data.busy");
  CHECK(e.measured.variant.empty());

  e = expectation(R"("metric": "m", "equals": "9.1 us", "tolerance": "15 %", "source": "s")");
  CHECK(e.low.value == 9'100'000);
  CHECK(e.allowed_deviation == Approx(1'365'000));
  CHECK(*e.source == "s");

  e = expectation(R"("metric": "m", "equals": "4 KiB", "tolerance": "1 KiB", "id": "X1")");
  CHECK(e.allowed_deviation == 1024);
  CHECK(e.low.unit == Unit::kBytes);
  CHECK(*e.id == "X1");

  e = expectation(R"("metric": "m", "equals": "50 %", "tolerance": "5 %")");
  CHECK(e.low.unit == Unit::kRatio);
  CHECK(e.allowed_deviation == Approx(0.05));

  e = expectation(R"("metric": "huge:m", "at_least": 1.5, "ratio_to": "m")");
  CHECK(e.relation == ExpectationSpec::Relation::kAtLeast);
  CHECK(e.measured.variant == "huge");
  CHECK(e.measured.path == "m");
  CHECK(e.reference.path == "m");
  CHECK(e.low.value == 1.5);

  e = expectation(R"("metric": "m", "between": ["10 Gb/s", "0.1 Tb/s"])");
  CHECK(e.relation == ExpectationSpec::Relation::kBetween);
  CHECK(e.low.value == 1e10);
  CHECK(e.high.value == 1e11);
  CHECK(e.high.unit == Unit::kBitsPerSecond);

  e = expectation(R"("metric": "m", "at_most": "5 cycles")");
  CHECK(e.relation == ExpectationSpec::Relation::kAtMost);
  CHECK(e.low.unit == Unit::kCycles);

  e = expectation(R"("violation": "deadlock", "at_least": 1)");
  CHECK(*e.violation == "deadlock");
  CHECK_FALSE(e.variant);
  e = expectation(R"("violation": "deadlock", "variant": "huge", "at_least": 1)");
  CHECK(*e.variant == "huge");
  e = expectation(R"("violation": "deadlock", "variant": "", "at_least": 1)");
  CHECK(e.variant->empty());
}

TEST_CASE("a point of a curve has an x value in the unit that it is given in") {
  const ExpectationSpec e =
      expectation(R"("metric": "m", "id": "P1 64 B", "equals": 1, "curve": "reads", "at": "64 B")");
  CHECK(*e.curve == "reads");
  CHECK(e.x.value == 64);
  CHECK(e.x.unit == Unit::kBytes);
  CHECK(expectation(R"("metric": "m", "id": "Q1", "equals": 1, "curve": "queue pairs", "at": 8)")
            .x.unit == Unit::kCount);

  CHECK(expect_failure(R"("metric": "m", "id": "P1", "equals": 1, "curve": "reads")") ==
        R"(x.json:1: expect.0.at: "curve" and "at" go together)");
  CHECK(expect_failure(R"("metric": "m", "id": "P1", "equals": 1, "at": "64 B")") ==
        R"(x.json:1: expect.0.at: "curve" and "at" go together)");
  CHECK(expect_failure(R"("metric": "m", "equals": 1, "curve": "reads", "at": "64 B")") ==
        R"(x.json:1: expect.0.curve: goes with "id" and "metric")");
  CHECK(expect_failure(R"("metric": "m", "id": "P1", "equals": 1, "curve": "c", "at": "far")")
            .find("x.json:1: expect.0.at: expected a number") == 0);
}

TEST_CASE("an expectation that means nothing is refused") {
  CHECK(expect_failure(R"("equals": 1)") ==
        R"(x.json:1: expect.0: expected either "metric" or "violation", found neither)");
  CHECK(expect_failure(R"("metric": "m", "violation": "deadlock", "at_least": 1)") ==
        R"(x.json:1: expect.0: expected either "metric" or "violation", found both)");
  CHECK(expect_failure(R"("metric": "m")") ==
        R"(x.json:1: expect.0: expected one of "equals", "at_least", "at_most" and "between", )"
        R"(found none)");
  CHECK(expect_failure(R"("metric": "m", "at_least": 1, "at_most": 2)").find("found several") !=
        std::string::npos);
  CHECK(expect_failure(R"("metric": "m", "at_least": 1, "tolerance": "1 %")") ==
        R"(x.json:1: expect.0.tolerance: goes with "equals" only)");
  CHECK(expect_failure(R"("metric": "m", "equals": "1 us", "tolerance": "1 B")") ==
        R"(x.json:1: expect.0.tolerance: expected a value in the unit of "1 us", found "1 B")");
  CHECK(expect_failure(R"("metric": "m", "equals": 1, "tolerance": -1)") ==
        "x.json:1: expect.0.tolerance: a tolerance cannot be negative");
  CHECK(expect_failure(R"("metric": "m", "equals": "fast")") ==
        R"(x.json:1: expect.0.equals: expected a number, a percentage, or a time, size, rate or )"
        R"(number of cycles with its unit, found "fast")");
  CHECK(expect_failure(R"("metric": "m", "between": [1])") ==
        "x.json:1: expect.0.between: expected a list of two values, found 1 values");
  CHECK(expect_failure(R"("metric": "m", "between": [2, 1])") ==
        "x.json:1: expect.0.between.1: expected at least 2, found 1");
  CHECK(expect_failure(R"("metric": "m", "between": ["1 us", "2 B"])") ==
        R"(x.json:1: expect.0.between.1: expected a value in the unit of "1 us", found "2 B")");
  CHECK(expect_failure(R"("metric": "hug:m", "equals": 1)") ==
        R"(x.json:1: expect.0.metric: unknown variant "hug", did you mean "huge"?)");
  CHECK(expect_failure(R"("metric": "huge:", "equals": 1)") ==
        R"(x.json:1: expect.0.metric: expected a metric's path, found "huge:")");
  CHECK(
      expect_failure(R"("metric": "m", "ratio_to": "m", "at_least": "1 us")") ==
      R"(x.json:1: expect.0.ratio_to: expected a number or a percentage to compare a ratio with, )"
      R"(found "1 us")");
  CHECK(expect_failure(R"("metric": "m", "ratio_to": "m", "difference_to": "m", "equals": 1)")
            .find("given together with \"ratio_to\"; choose one") != std::string::npos);
  CHECK(expect_failure(R"("violation": "deadlock", "variant": "hug", "at_least": 1)") ==
        R"(x.json:1: expect.0.variant: unknown variant "hug", did you mean "huge"?)");
  CHECK(expect_failure(R"("metric": "m", "variant": "huge", "equals": 1)") ==
        R"(x.json:1: expect.0.variant: goes with "violation" only; a metric names it as )"
        R"("variant:path")");
  CHECK(expect_failure(R"("violation": "deadlok", "at_least": 1)")
            .find("expect.0.violation: expected lossless_drop, unfinished_flow, deadlock, "
                  "pause_storm, pfc_missing or not_routable, found \"deadlok\"") !=
        std::string::npos);
  CHECK(expect_failure(R"("violation": "deadlock", "equals": 1)")
            .find("expected \"at_least\" with a number for a violation") != std::string::npos);
}
