// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/engine/run_json.h"
#include "scenarios/engine/unit_name.h"
#include "tools/export/ledger.h"

namespace rnicsim {
namespace {

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string ledger_csv(const Ledger& ledger) {
  std::string out =
      "id,role,scenario,curve,at,published,simulated,unit,error,tolerance,verdict,source,missing\n";
  for (const LedgerRow& row : ledger.rows) {
    const ExpectationSpec& spec = row.result.spec;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", cell(row.id()),
                       name_of(row.role()), cell(row.scenario), cell(spec.curve.value_or("")),
                       spec.curve ? cell(spec.x.text) : "", number_to_json(spec.low.value).dump(),
                       number_to_json(row.result.measured).dump(), unit_name(row.result.unit),
                       row.error() ? fmt::format("{:.6f}", *row.error()) : "",
                       cell(row.tolerance()), cell(row.verdict()), cell(spec.source.value_or("")),
                       cell(row.not_judged.empty() ? spec.missed.value_or("") : row.remark()));
  }
  return out;
}

}  // namespace rnicsim
