// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/engine/run_json.h"
#include "scenarios/engine/unit_name.h"
#include "tools/export/csv.h"
#include "tools/export/ledger.h"

namespace rnicsim {
std::string ledger_csv(const Ledger& ledger) {
  std::string out =
      "id,role,scenario,curve,at,published,simulated,unit,error,tolerance,verdict,source,missing\n";
  for (const LedgerRow& row : ledger.rows) {
    const ExpectationSpec& spec = row.result.spec;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(row.id()), name_of(row.role()),
        csv_cell(row.scenario), csv_cell(spec.curve.value_or("")),
        spec.curve ? csv_cell(spec.x.text) : "", number_to_json(spec.low.value).dump(),
        number_to_json(row.result.measured).dump(), unit_name(row.result.unit),
        row.error() ? fmt::format("{:.6f}", *row.error()) : "", csv_cell(row.tolerance()),
        csv_cell(row.verdict()), csv_cell(spec.source.value_or("")),
        csv_cell(row.not_judged.empty() ? spec.missed.value_or("") : row.remark()));
  }
  return out;
}

}  // namespace rnicsim
