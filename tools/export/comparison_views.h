// SPDX-License-Identifier: MIT
// A comparison for people and programs: a table, documents, a page.
//
// The JSON document, whose version grows when a reader of the old one would fail:
//   { "format": "rnicsim-comparison", "version": 1, "title": "...", "tables": [ { title,
//       columns: [ { title, scenario, variant, error } ],
//       rows: [ { group, chart, title, metric, per, unit, better,
//                 cells: [ { value, text, factor, best, worded } ] } ] } ] }
//   title    the scenario's, "" of several; of a table what it is about
//   variant  "base": the scenario itself
//   error    why the run failed; not there if it did not
//   group    heading above the row, "" without one; chart: bars, stack or lines
//   metric   what was measured, or the path of a setting; per: by what it was divided, if it was
//   unit     of the values: as in the result document, or e.g. "cycles/B", or words of the file
//   better   less, more, or unknown
//   cells    one a column: value is null where there is nothing, or words that no number stands
//            behind; text is the same for people; factor: of the first column's value, or null;
//            best: no other is better and some are worse; worded, if words show it
//
// The CSV file is tidy: one line a cell.
#pragma once

#include <string>

#include "scenarios/engine/comparison.h"
#include "tools/export/text_style.h"

namespace rnicsim {

/// No more than kTerminalColumns wide: where there are too many columns, blocks of them below one
/// another. Ends with a line feed.
std::string comparison_table(const Comparison& comparison, const TerminalStyle& style);
std::string comparison_json(const Comparison& comparison);
std::string comparison_csv(const Comparison& comparison);
std::string comparison_html(const Comparison& comparison);

/// "9.12 us", "0.41 cycles/B", "yes, for 3 us", "-" for nothing.
std::string cell_text(const ComparisonRow& row, std::size_t column);
/// As the documents name it.
std::string unit_text(const ComparisonRow& row);

}  // namespace rnicsim
