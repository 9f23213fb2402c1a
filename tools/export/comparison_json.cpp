// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "scenarios/engine/result_document.h"
#include "scenarios/engine/run_json.h"
#include "tools/export/comparison_views.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(ComparisonChart chart) {
  switch (chart) {
    case ComparisonChart::kStack:
      return "stack";
    case ComparisonChart::kLines:
      return "lines";
    case ComparisonChart::kBars:
      break;
  }
  return "bars";
}

const char* name_of(Better better) {
  switch (better) {
    case Better::kLess:
      return "less";
    case Better::kMore:
      return "more";
    case Better::kUnknown:
      break;
  }
  return "unknown";
}

Json optional(const std::optional<double>& value) {
  return value ? number_to_json(*value) : Json();
}

Json row_to_json(const ComparisonRow& row) {
  Json json = {{"group", row.group},
               {"chart", name_of(row.chart)},
               {"title", row.title},
               {"metric", row.metric},
               {"per", row.per},
               {"unit", unit_text(row)},
               {"better", name_of(row.better)},
               {"cells", Json::array()}};
  if (row.per.empty()) json.erase("per");
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    Json cell = {{"value", optional(row.cells[c].value)},
                 {"text", cell_text(row, c)},
                 {"factor", optional(row.factor(c))},
                 {"best", row.is_best(c)}};
    if (!row.cells[c].words.empty()) cell["worded"] = true;
    json["cells"].push_back(std::move(cell));
  }
  return json;
}

Json table_to_json(const ComparisonTable& table) {
  Json json = {{"title", table.title}, {"columns", Json::array()}, {"rows", Json::array()}};
  for (const ComparisonColumn& column : table.columns) {
    Json entry = {
        {"title", column.title}, {"scenario", column.scenario}, {"variant", column.variant}};
    if (!column.error.empty()) entry["error"] = column.error;
    json["columns"].push_back(std::move(entry));
  }
  for (const ComparisonRow& row : table.rows) json["rows"].push_back(row_to_json(row));
  return json;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  Json json = {{"format", "rnicsim-comparison"},
               {"version", 1},
               {"title", comparison.title},
               {"tables", Json::array()}};
  for (const ComparisonTable& table : comparison.tables)
    json["tables"].push_back(table_to_json(table));
  return to_lines(json);
}

}  // namespace rnicsim
