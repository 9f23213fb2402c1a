// SPDX-License-Identifier: MIT
#include "tools/export/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/export/terminal.h"

namespace rnicsim {
namespace {

using Relation = ExpectationSpec::Relation;

/// A violation is a published fact if it says where it was published.
bool is_row(const ExpectationSpec& spec) {
  return spec.metric ? spec.id || spec.source : spec.id && spec.source;
}

bool says(const std::string& id, const char* mark) { return id.find(mark) != std::string::npos; }

}  // namespace

const char* name_of(LedgerRole role) {
  switch (role) {
    case LedgerRole::kMeasured:
      return "measured";
    case LedgerRole::kExact:
      return "exact";
    case LedgerRole::kCalibration:
      return "calibration";
    case LedgerRole::kRecalled:
      break;
  }
  return "recalled";
}

std::string LedgerRow::id() const { return result.spec.id ? *result.spec.id : *result.spec.metric; }

LedgerRole LedgerRow::role() const {
  if (says(id(), "(calibration)")) return LedgerRole::kCalibration;
  if (says(id(), "(recalled)")) return LedgerRole::kRecalled;
  const bool exact = result.spec.relation == Relation::kEquals && result.spec.tolerance == nullptr;
  return exact ? LedgerRole::kExact : LedgerRole::kMeasured;
}

std::string LedgerRow::verdict() const {
  if (!not_judged.empty()) return "FAIL: not judged";
  if (!accepted()) return result.passed ? "FAIL: no longer missed" : "FAIL";
  return result.passed ? "pass" : "missed";
}

std::string LedgerRow::remark() const {
  if (!not_judged.empty()) return "not judged: " + not_judged;
  return result.spec.missed ? "missing here: " + *result.spec.missed : std::string();
}

std::string LedgerRow::tolerance() const {
  if (result.spec.relation != Relation::kEquals)
    return result.spec.relation == Relation::kBetween ? "range" : "bound";
  return result.spec.tolerance != nullptr ? result.spec.tolerance->text() : "exact";
}

std::string LedgerRow::published() const {
  return result.spec.tolerance != nullptr ? result.spec.low.text : expected_text(result.spec);
}

std::optional<double> LedgerRow::error() const {
  const double published = result.spec.low.value;
  if (result.spec.relation != Relation::kEquals || published == 0 ||
      !std::isfinite(result.measured))
    return std::nullopt;
  return (result.measured - published) / published;
}

std::string LedgerRow::error_text() const {
  return error() ? fmt::format("{:+.1f} %", 100 * *error()) : "-";
}

bool LedgerAblation::proved() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.proved(); });
}

bool Ledger::ablations_proved() const {
  return std::all_of(ablations.begin(), ablations.end(),
                     [](const LedgerAblation& ablation) { return ablation.proved(); });
}

LedgerTotals Ledger::totals() const {
  LedgerTotals totals;
  double sum = 0;
  std::size_t count = 0;
  for (const LedgerRow& row : rows) {
    const bool passed = row.result.passed;
    ++totals.rows;
    totals.passed += passed ? 1 : 0;
    totals.missed += !passed && row.accepted() ? 1 : 0;
    totals.failed += row.accepted() ? 0 : 1;
    if (row.role() == LedgerRole::kExact) {
      ++totals.exact;
      totals.exact_passed += passed ? 1 : 0;
    }
    if (row.role() != LedgerRole::kMeasured) continue;
    ++totals.measured;
    totals.measured_passed += passed ? 1 : 0;
    const std::optional<double> error = row.error();
    if (!error) continue;
    sum += std::abs(*error);
    ++count;
  }
  if (count != 0) totals.mean_error = sum / static_cast<double>(count);
  return totals;
}

void add_rows(Ledger& ledger, const std::vector<JudgedRun>& runs) {
  for (const JudgedRun& run : runs) {
    for (const ExpectationResult& result : run.expectations)
      if (is_row(result.spec)) ledger.rows.push_back({run.scenario, result});
    for (const Unjudged& unjudged : run.unjudged) {
      if (!is_row(unjudged.spec)) continue;
      ExpectationResult result;
      result.spec = unjudged.spec;
      result.measured = std::numeric_limits<double>::quiet_NaN();
      result.unit = unjudged.spec.low.unit;
      ledger.rows.push_back({run.scenario, std::move(result), unjudged.why});
    }
  }
}

void add_ablation(Ledger& ledger, const std::string& scenario, const AblationSpec& spec,
                  const std::vector<JudgedRun>& runs) {
  LedgerAblation ablation{scenario, spec.name, spec.title, {}};
  for (const std::string& id : spec.fails) {
    bool found = false;
    for (const JudgedRun& run : runs)
      for (const ExpectationResult& result : run.expectations) {
        if (result.spec.id != id) continue;
        ablation.rows.push_back({id, LedgerRow{scenario, result}});
        found = true;
      }
    if (!found) ablation.rows.push_back({id, std::nullopt});
  }
  ledger.ablations.push_back(std::move(ablation));
}

}  // namespace rnicsim
