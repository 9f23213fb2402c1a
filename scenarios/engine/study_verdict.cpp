// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/engine/study_dimension.h"
#include "scenarios/engine/study_sentences.h"
#include "scenarios/engine/study_statistics.h"

namespace rnicsim {
namespace {

using Positions = std::vector<std::size_t>;

std::vector<StudyCell> cells_of(const StudyResult& result, std::size_t metric) {
  std::map<Positions, std::vector<double>> values;
  std::map<Positions, std::optional<double>> costs;
  for (const StudyRow& row : result.rows) {
    const std::optional<double>& value = row.values[metric];
    if (!value || !std::isfinite(*value)) continue;
    values[row.point.positions].push_back(*value);
    costs[row.point.positions] = row.cost;
  }
  std::vector<StudyCell> cells;
  cells.reserve(values.size());
  for (const auto& [positions, of] : values)
    cells.push_back({positions, of.size(), mean_of(of), half_width_of(of), costs[positions]});
  return cells;
}

std::vector<std::size_t> ranking_of(const std::vector<DimensionVerdict>& dimensions) {
  std::vector<std::size_t> ranking;
  for (std::size_t d = 0; d < dimensions.size(); ++d) ranking.push_back(d);
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    return dimensions[a].effect > dimensions[b].effect;
  });
  return ranking;
}

std::vector<std::size_t> pareto_of(const std::vector<StudyCell>& cells, StudyAim aim) {
  if (aim == StudyAim::kNone) return {};
  const double sign = aim == StudyAim::kMore ? 1 : -1;
  std::vector<std::size_t> by_cost;
  for (std::size_t c = 0; c < cells.size(); ++c)
    if (cells[c].cost) by_cost.push_back(c);
  std::stable_sort(by_cost.begin(), by_cost.end(), [&](std::size_t a, std::size_t b) {
    if (*cells[a].cost != *cells[b].cost) return *cells[a].cost < *cells[b].cost;
    return sign * cells[a].mean > sign * cells[b].mean;
  });
  std::vector<std::size_t> front;
  for (const std::size_t c : by_cost)
    if (front.empty() || sign * cells[c].mean > sign * cells[front.back()].mean) front.push_back(c);
  return front;
}

}  // namespace

std::optional<double> judged_gain(const DimensionVerdict& dimension, const StudyStep& step) {
  return dimension.scale == StepScale::kDoubling ? step.per_doubling : step.gain;
}

std::vector<MetricVerdict> verdict_of(const StudyResult& result) {
  std::vector<MetricVerdict> verdicts;
  for (std::size_t m = 0; m < result.metrics.size(); ++m) {
    const StudyMetricSpec& spec = result.metrics[m].spec;
    MetricVerdict& verdict = verdicts.emplace_back();
    verdict.metric = spec.name;
    verdict.aim = spec.better;
    verdict.cells = cells_of(result, m);
    verdict.runs = result.rows.size();
    verdict.without_value = verdict.runs;
    for (const StudyCell& cell : verdict.cells) verdict.without_value -= cell.runs;
    for (std::size_t d = 0; d < result.plan.dimensions().size(); ++d)
      verdict.dimensions.push_back(judge_dimension(result.plan, d, spec.better, verdict.cells));
    verdict.ranking = ranking_of(verdict.dimensions);
    verdict.pareto = pareto_of(verdict.cells, spec.better);
    verdict.sentences = sentences_of(verdict, result.plan);
  }
  return verdicts;
}

}  // namespace rnicsim
