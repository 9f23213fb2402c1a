// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/engine/run_json.h"
#include "tools/export/comparison_views.h"
#include "tools/export/csv.h"

namespace rnicsim {

std::string comparison_csv(const Comparison& comparison) {
  std::string out = "table,group,row,metric,per,unit,column,scenario,variant,value,text\n";
  for (const ComparisonTable& table : comparison.tables)
    for (const ComparisonRow& row : table.rows)
      for (std::size_t c = 0; c < row.cells.size(); ++c) {
        const ComparisonColumn& column = table.columns[c];
        const std::optional<double>& value = row.cells[c].value;
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(table.title),
                           csv_cell(row.group), csv_cell(row.title), csv_cell(row.metric),
                           csv_cell(row.per), csv_cell(unit_text(row)), csv_cell(column.title),
                           csv_cell(column.scenario), csv_cell(column.variant),
                           value ? number_to_json(*value).dump() : "", csv_cell(cell_text(row, c)));
      }
  return out;
}

}  // namespace rnicsim
