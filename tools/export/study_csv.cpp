// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "scenarios/engine/run_json.h"
#include "tools/export/csv.h"
#include "tools/export/study_views.h"

namespace rnicsim {
namespace {

std::string cell(const std::optional<double>& value) {
  return value ? number_to_json(*value).dump() : "";
}

}  // namespace

std::string study_csv(const StudyResult& result) {
  const StudyPlan& plan = result.plan;
  std::string out;
  for (const StudyAxis& axis : plan.axes()) out += csv_cell(axis.name) + ',';
  out += "repeat,";
  if (plan.spec().cost) out += csv_cell(plan.spec().cost->name) + ',';
  for (const StudyMetric& metric : result.metrics) out += csv_cell(metric.spec.name) + ',';
  out += "error\n";
  for (const StudyRow& row : result.rows) {
    for (std::size_t a = 0; a < plan.axes().size(); ++a)
      out += csv_cell(plan.label(row.point, a)) + ',';
    out += std::to_string(row.point.repeat) + ',';
    if (plan.spec().cost) out += cell(row.cost) + ',';
    for (const std::optional<double>& value : row.values) out += cell(value) + ',';
    out += csv_cell(row.error) + '\n';
  }
  return out;
}

}  // namespace rnicsim
