// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "tools/export/ledger.h"
#include "tools/export/text_style.h"
#include "tools/export/value_text.h"

namespace rnicsim {
namespace {

using Cells = std::vector<std::vector<std::string>>;

/// Columns as wide as their widest cell; `numbers` are set to the right.
std::string columns(const Cells& cells, std::size_t first_number, std::size_t last_number) {
  std::vector<std::size_t> widths(cells[0].size());
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width_of(line[i]));
  std::string out;
  for (const auto& line : cells) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      const bool number = i >= first_number && i <= last_number;
      out += (number ? padded_left(line[i], widths[i]) : padded(line[i], widths[i])) + "  ";
    }
    out += line.back();
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string simulated(const LedgerRow& row) {
  return short_text(row.result.measured, row.result.unit);
}

std::string source_text(const LedgerRow& row) {
  std::string text = row.result.spec.source.value_or("");
  if (!text.empty() && !row.remark().empty()) text += "; ";
  return text + row.remark();
}

std::string rows_table(const Ledger& ledger) {
  Cells cells{{"id", "published", "simulated", "error", "tolerance", "verdict", "source"}};
  for (const LedgerRow& row : ledger.rows)
    cells.push_back({row.id(), row.published(), simulated(row), row.error_text(), row.tolerance(),
                     row.verdict(), source_text(row)});
  return columns(cells, 1, 3);
}

std::string ablations_table(const Ledger& ledger) {
  Cells cells{{"ablation", "id", "published", "without it", "verdict", "what is taken away"}};
  for (const LedgerAblation& ablation : ledger.ablations)
    for (const LedgerAblation::Row& row : ablation.rows)
      cells.push_back({ablation.name, row.id, row.found ? row.found->published() : "-",
                       row.found ? simulated(*row.found) : "no end", row.verdict(),
                       ablation.title});
  return columns(cells, 2, 3);
}

std::string share(std::size_t part, std::size_t all) {
  return fmt::format("{} of {} ({:.1f} %)", part, all,
                     100 * static_cast<double>(part) / static_cast<double>(all));
}

std::string totals_text(const LedgerTotals& totals) {
  std::string out = fmt::format("{} of {} pass", totals.passed, totals.rows);
  if (totals.missed != 0) out += fmt::format(", {} missed", totals.missed);
  if (totals.failed != 0) out += fmt::format(", {} FAIL", totals.failed);
  if (totals.exact != 0) out += fmt::format("\nexact: {} of {}", totals.exact_passed, totals.exact);
  if (totals.measured != 0)
    out += "\nmeasured: " + share(totals.measured_passed, totals.measured) + " within tolerance";
  if (totals.mean_error)
    out += fmt::format("; mean absolute relative error {:.1f} %", 100 * *totals.mean_error);
  return out + '\n';
}

}  // namespace

std::string ledger_table(const Ledger& ledger) {
  std::string out = rows_table(ledger);
  if (!ledger.ablations.empty()) out += '\n' + ablations_table(ledger);
  return out + '\n' + totals_text(ledger.totals());
}

}  // namespace rnicsim
