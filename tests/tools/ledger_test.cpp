// SPDX-License-Identifier: MIT
#include "tools/export/ledger.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "model/json_document.h"

using namespace rnicsim;

namespace {

ExpectationResult result(const std::string& members, double measured, bool passed,
                         Unit unit = Unit::kCount) {
  const JsonNode node = parse_json("{\"metric\": \"m\", " + members + "}", "x.json");
  ExpectationResult made;
  read_config(node, made.spec, "expect.0");
  made.spec.interpret(node, "expect.0", {});
  made.measured = measured;
  made.unit = unit;
  made.passed = passed;
  return made;
}

JudgedRun run_with(std::vector<ExpectationResult> results) {
  JudgedRun run;
  run.scenario = "x";
  run.expectations = std::move(results);
  return run;
}

/// Two measurements of which one is missed, an exact row, a calibration, a recalled one, a bound.
Ledger example() {
  Ledger ledger;
  add_rows(
      ledger,
      {run_with({result(R"("id": "A1", "equals": 100, "tolerance": "5 %")", 104, true),
                 result(R"("id": "A2", "equals": 100, "tolerance": "5 %", "missed": "a cache")", 90,
                        false),
                 result(R"("id": "A3", "equals": 7)", 7, true),
                 result(R"j("id": "A4 (calibration)", "equals": 1, "tolerance": "1 %")j", 3, true),
                 result(R"j("id": "A5 (recalled)", "equals": 1, "tolerance": "1 %")j", 3, true),
                 result(R"("id": "A6", "at_least": 2)", 3, true),
                 result(R"("equals": 2)", 2, true)})});
  return ledger;
}

AblationSpec ablation_of(std::vector<std::string> fails) {
  AblationSpec spec;
  spec.name = "off";
  spec.fails = std::move(fails);
  return spec;
}

}  // namespace

TEST_CASE("calibrated, recalled and exact rows stay out of the share and the mean error") {
  const LedgerTotals totals = example().totals();
  CHECK(totals.rows == 6);
  CHECK(totals.passed == 5);
  CHECK(totals.missed == 1);
  CHECK(totals.failed == 0);
  CHECK(totals.exact == 1);
  CHECK(totals.exact_passed == 1);
  CHECK(totals.measured == 3);
  CHECK(totals.measured_passed == 2);
  CHECK(*totals.mean_error == Approx(0.07));
}

TEST_CASE("a ledger's table has a line for each row and ends in the totals") {
  CHECK(ledger_table(example()) ==
        "id                 published  simulated     error  tolerance  verdict  source\n"
        "A1                       100        104    +4.0 %  5 %        pass\n"
        "A2                       100         90   -10.0 %  5 %        missed   missing here: a "
        "cache\n"
        "A3                         7          7    +0.0 %  exact      pass\n"
        "A4 (calibration)           1          3  +200.0 %  1 %        pass\n"
        "A5 (recalled)              1          3  +200.0 %  1 %        pass\n"
        "A6                at least 2          3         -  bound      pass\n"
        "\n"
        "5 of 6 pass, 1 missed\n"
        "exact: 1 of 1\n"
        "measured: 2 of 3 (66.7 %) within tolerance; mean absolute relative error 7.0 %\n");
}

TEST_CASE("an ablation proves its rows only if each fails without the mechanism") {
  const auto proved = [](bool first, bool second) {
    Ledger ledger;
    add_ablation(ledger, "x", ablation_of({"A1", "A2"}),
                 {run_with({result(R"("id": "A1", "equals": 1)", 2, first),
                            result(R"("id": "A2", "equals": 1)", 2, second),
                            result(R"("id": "A3", "equals": 1)", 2, true)})});
    return ledger.ablations_proved();
  };
  CHECK(proved(false, false));
  CHECK_FALSE(proved(true, false));
  CHECK_FALSE(proved(false, true));
}

TEST_CASE("what could not be judged is a row that fails and says why, missed or not") {
  JudgedRun run = run_with({result(R"("id": "A1", "equals": 100, "tolerance": "5 %")", 100, true)});
  for (const char* members :
       {R"("id": "A2", "equals": "1 us", "tolerance": "5 %")",
        R"("id": "A3", "at_least": 2, "missed": "a cache")", R"("equals": 2)"})
    run.unjudged.push_back({result(members, 0, false).spec, "deadlock at w0: waits for ever"});
  Ledger ledger;
  add_rows(ledger, {run});
  REQUIRE(ledger.rows.size() == 3);
  const LedgerTotals totals = ledger.totals();
  CHECK(totals.failed == 2);
  CHECK(totals.missed == 0);
  CHECK(totals.measured == 3);
  CHECK(totals.measured_passed == 1);
  CHECK(*totals.mean_error == 0);
  CHECK(ledger_table(ledger).find(
            "A2        1 us    nothing       -  5 %        FAIL: not judged  not judged: deadlock "
            "at w0: waits for ever\n") != std::string::npos);
  const auto json = nlohmann::json::parse(ledger_json(ledger));
  CHECK(json["rows"][1]["simulated"].is_null());
  CHECK(json["rows"][1]["error"].is_null());
  CHECK(json["rows"][2]["verdict"] == "FAIL: not judged");
  CHECK(json["rows"][2]["not_judged"] == "deadlock at w0: waits for ever");
  CHECK(ledger_csv(ledger).find("A3,measured,x,,,2,null,count,,bound,FAIL: not judged,,not judged: "
                                "deadlock at w0: waits for ever\n") != std::string::npos);
}

TEST_CASE("a run that comes to no end without the mechanism proves the row") {
  Ledger ledger;
  add_ablation(ledger, "x", ablation_of({"A1"}), {run_with({})});
  CHECK(ledger.ablations_proved());
  CHECK(ledger_table(ledger).find("off       A1          -      no end  fails, as it must") !=
        std::string::npos);
}

TEST_CASE("an unnecessary mechanism is named in the table") {
  Ledger ledger;
  add_ablation(
      ledger, "x", ablation_of({"A1"}),
      {run_with({result(R"("id": "A1", "equals": "1 us")", 1e6, true, Unit::kPicoseconds)})});
  CHECK_FALSE(ledger.ablations_proved());
  CHECK(ledger_table(ledger).find("FAIL: not necessary") != std::string::npos);
}

TEST_CASE("a ledger's document has the points of curves and the ablations") {
  Ledger ledger;
  add_rows(ledger, {run_with({result(R"("id": "A1", "equals": "10 us", "tolerance": "5 %",
                                        "curve": "reads", "at": "64 B", "source": "s")",
                                     1.02e7, true, Unit::kPicoseconds)})});
  add_ablation(ledger, "x", ablation_of({"A1"}), {run_with({})});
  const auto json = nlohmann::json::parse(ledger_json(ledger));
  CHECK(json["format"] == "rnicsim-validation");
  const auto& row = json["rows"][0];
  CHECK(row["curve"] == "reads");
  CHECK(row["at"] == 64);
  CHECK(row["at_unit"] == "B");
  CHECK(row["published"] == 10'000'000);
  CHECK(row["deviation"] == 500'000);
  CHECK(row["role"] == "measured");
  CHECK(json["ablations"][0]["rows"][0]["proved"] == true);
  CHECK(ledger_csv(ledger) ==
        "id,role,scenario,curve,at,published,simulated,unit,error,tolerance,verdict,source,"
        "missing\n"
        "A1,measured,x,reads,64 B,10000000,10200000,ps,0.020000,5 %,pass,s,\n");
}
