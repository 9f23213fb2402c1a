// SPDX-License-Identifier: MIT
#include "tools/export/comparison_views.h"

#include <fmt/format.h>

#include "scenarios/engine/unit_name.h"
#include "tools/export/value_text.h"

namespace rnicsim {
namespace {

std::string number_text(const ComparisonRow& row, double value) {
  if (row.unit_text) {
    std::string bare = short_text(value, row.per.empty() ? Unit::kCount : Unit::kRatio);
    return row.unit_text->empty() ? bare : fmt::format("{} {}", bare, *row.unit_text);
  }
  if (!row.per_unit) return short_text(value, row.unit);
  const char* per = unit_name(*row.per_unit);
  if (row.unit == Unit::kCycles || row.unit == Unit::kCount)
    return fmt::format("{:.4g}{}/{}", value, row.unit == Unit::kCycles ? " cycles" : "", per);
  return fmt::format("{}/{}", short_text(value, row.unit), per);
}

}  // namespace

std::string cell_text(const ComparisonRow& row, std::size_t column) {
  const ComparisonCell& cell = row.cells[column];
  std::string number = cell.value ? number_text(row, *cell.value) : "-";
  if (cell.words.empty()) return number;
  std::string text = cell.words;
  const std::size_t place = text.find("{}");
  return place == std::string::npos ? text : text.replace(place, 2, number);
}

std::string unit_text(const ComparisonRow& row) {
  if (row.unit_text && !row.unit_text->empty()) return *row.unit_text;
  if (!row.per_unit) return unit_name(row.unit);
  return fmt::format("{}/{}", unit_name(row.unit), unit_name(*row.per_unit));
}

}  // namespace rnicsim
