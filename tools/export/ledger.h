// SPDX-License-Identifier: MIT
// What `rnicsim validate` found: one row a published number with what the model makes of it, and
// the ablations, which show that rows depend on the mechanisms that they are said to depend on.
// The table, the documents and the page are all made of this.
//
// A row counts as evidence unless its id says "(calibration)": it has set a value of the model; or
// "(recalled)": it has not been read again at its source. Rows that must come out exactly (equals
// without a tolerance: constants and arithmetic) are counted apart from measurements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/expectations.h"

namespace rnicsim {

enum class LedgerRole { kMeasured, kExact, kCalibration, kRecalled };
/// "measured", "exact", ...
const char* name_of(LedgerRole role);

struct LedgerRow {
  std::string scenario;
  ExpectationResult result;
  std::string not_judged{};  ///< why its run says nothing; empty: it does

  std::string id() const;
  LedgerRole role() const;
  bool accepted() const { return not_judged.empty() && result.accepted(); }
  /// "pass", "missed" (does not hold, as its file says with the mechanism that is missing), "FAIL",
  /// "FAIL: no longer missed" or "FAIL: not judged".
  std::string verdict() const;
  /// The mechanism that is missing, or why it was not judged; mostly empty.
  std::string remark() const;
  /// "5 %", "exact", "bound", "range".
  std::string tolerance() const;
  /// "0.99 us", "at least 2", "1 to 3".
  std::string published() const;
  /// Relative; there is none for a bound or a range, around zero, or of what was not measured.
  std::optional<double> error() const;
  std::string error_text() const;
};

/// A mechanism taken away.
struct LedgerAblation {
  struct Row {
    std::string id;
    /// Nothing: the run came to no proper end without the mechanism.
    std::optional<LedgerRow> found;
    /// It does not hold any more, as it must.
    bool proved() const { return !found || !found->result.passed; }
    std::string verdict() const { return proved() ? "fails, as it must" : "FAIL: not necessary"; }
  };
  std::string scenario;
  std::string name;
  std::string title;
  std::vector<Row> rows;
  bool proved() const;
};

struct LedgerTotals {
  std::size_t rows = 0;
  std::size_t passed = 0;
  std::size_t missed = 0;
  std::size_t failed = 0;
  std::size_t measured = 0;  ///< rows of that role
  std::size_t measured_passed = 0;
  std::size_t exact = 0;
  std::size_t exact_passed = 0;
  std::optional<double> mean_error;  ///< mean absolute relative error of measured rows
};

struct Ledger {
  std::vector<LedgerRow> rows;
  std::vector<LedgerAblation> ablations;

  LedgerTotals totals() const;
  bool ablations_proved() const;
};

/// The rows of runs: expectations with an id or a source; of violations those with both. Those of a
/// run without a proper end are rows that fail.
void add_rows(Ledger& ledger, const std::vector<JudgedRun>& runs);
/// `runs`: those of the ablation, judged by all expectations of their file.
void add_ablation(Ledger& ledger, const std::string& scenario, const AblationSpec& spec,
                  const std::vector<JudgedRun>& runs);

/// For a terminal: the rows, the ablations, and the totals in one line each.
std::string ledger_table(const Ledger& ledger);
std::string ledger_csv(const Ledger& ledger);
/// rnicsim-validation, version 2.
std::string ledger_json(const Ledger& ledger);
/// One self-contained page: a plot for each curve, the ablations and the rows.
std::string ledger_html(const Ledger& ledger);

}  // namespace rnicsim
