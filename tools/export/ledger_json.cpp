// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "scenarios/engine/result_document.h"
#include "scenarios/engine/run_json.h"
#include "scenarios/engine/unit_name.h"
#include "tools/export/ledger.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;
using Relation = ExpectationSpec::Relation;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json row_to_json(const LedgerRow& row) {
  const ExpectationSpec& spec = row.result.spec;
  Json json = {{"id", row.id()},
               {"role", name_of(row.role())},
               {"scenario", row.scenario},
               {"relation", name_of(spec.relation)},
               {"published", number_to_json(spec.low.value)},
               {"published_text", row.published()},
               {"simulated", number_to_json(row.result.measured)},
               {"unit", unit_name(row.result.unit)},
               {"error", optional(row.error())},
               {"tolerance", row.tolerance()},
               {"passed", row.result.passed},
               {"verdict", row.verdict()},
               {"source", spec.source.value_or("")}};
  if (spec.relation == Relation::kBetween) json["published_high"] = number_to_json(spec.high.value);
  if (spec.relation == Relation::kEquals)
    json["deviation"] = number_to_json(spec.allowed_deviation);
  if (spec.missed) json["missing"] = *spec.missed;
  if (!row.not_judged.empty()) json["not_judged"] = row.not_judged;
  if (spec.curve) {
    json["curve"] = *spec.curve;
    json["at"] = number_to_json(spec.x.value);
    json["at_text"] = spec.x.text;
    json["at_unit"] = unit_name(spec.x.unit);
  }
  return json;
}

Json ablation_to_json(const LedgerAblation& ablation) {
  Json rows = Json::array();
  for (const LedgerAblation::Row& row : ablation.rows) {
    Json json = {{"id", row.id}, {"verdict", row.verdict()}, {"proved", row.proved()}};
    if (row.found) {
      json["published_text"] = row.found->published();
      json["simulated"] = number_to_json(row.found->result.measured);
      json["unit"] = unit_name(row.found->result.unit);
    }
    rows.push_back(std::move(json));
  }
  return {{"name", ablation.name},
          {"scenario", ablation.scenario},
          {"title", ablation.title},
          {"rows", std::move(rows)}};
}

}  // namespace

std::string ledger_json(const Ledger& ledger) {
  const LedgerTotals totals = ledger.totals();
  Json rows = Json::array();
  for (const LedgerRow& row : ledger.rows) rows.push_back(row_to_json(row));
  Json ablations = Json::array();
  for (const LedgerAblation& ablation : ledger.ablations)
    ablations.push_back(ablation_to_json(ablation));
  return to_lines(Json{{"format", "rnicsim-validation"},
                       {"version", 2},
                       {"passed", totals.passed},
                       {"missed", totals.missed},
                       {"failed", totals.failed},
                       {"exact", totals.exact},
                       {"exact_passed", totals.exact_passed},
                       {"measured", totals.measured},
                       {"measured_within_tolerance", totals.measured_passed},
                       {"mean_absolute_relative_error", optional(totals.mean_error)},
                       {"rows", std::move(rows)},
                       {"ablations", std::move(ablations)}});
}

}  // namespace rnicsim
