// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "scenarios/engine/study_dimension.h"
#include "scenarios/engine/study_offers.h"
#include "scenarios/engine/study_sentences.h"
#include "scenarios/engine/study_statistics.h"

namespace rnicsim {
namespace {

using Positions = std::vector<std::size_t>;

std::vector<StudyCell> cells_of(const StudyResult& result, std::size_t metric) {
  std::map<Positions, StudyCell> cells;
  for (const StudyRow& row : result.rows) {
    const std::optional<double>& value = row.values[metric];
    if (!value || !std::isfinite(*value)) continue;
    StudyCell& cell = cells[row.point.positions];
    cell.cost = row.cost;
    cell.values.resize(result.plan.spec().repeats);
    cell.values[row.point.repeat] = *value;
  }
  std::vector<StudyCell> made;
  made.reserve(cells.size());
  for (auto& [positions, cell] : cells) {
    std::vector<double> values;
    for (const std::optional<double>& value : cell.values)
      if (value) values.push_back(*value);
    cell.positions = positions;
    cell.runs = values.size();
    cell.mean = mean_of(values);
    cell.half_width = half_width_of(values);
    made.push_back(std::move(cell));
  }
  return made;
}

std::size_t combinations_of(const std::vector<DimensionVerdict>& dimensions) {
  std::size_t number = 1;
  for (const DimensionVerdict& dimension : dimensions) number *= dimension.order.size();
  return number;
}

std::vector<std::size_t> ranking_of(const std::vector<DimensionVerdict>& dimensions) {
  std::vector<std::size_t> ranking;
  for (std::size_t d = 0; d < dimensions.size(); ++d) ranking.push_back(d);
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    return dimensions[a].effect > dimensions[b].effect;
  });
  return ranking;
}

std::vector<std::size_t> pareto_of(const std::vector<StudyOffer>& offers, StudyAim aim) {
  const double sign = aim == StudyAim::kMore ? 1 : -1;
  std::vector<std::size_t> by_cost;
  for (std::size_t o = 0; o < offers.size(); ++o) by_cost.push_back(o);
  std::stable_sort(by_cost.begin(), by_cost.end(), [&](std::size_t a, std::size_t b) {
    if (offers[a].cost != offers[b].cost) return offers[a].cost < offers[b].cost;
    return sign * offers[a].mean > sign * offers[b].mean;
  });
  std::vector<std::size_t> front;
  for (const std::size_t o : by_cost)
    if (front.empty() || sign * offers[o].mean > sign * offers[front.back()].mean)
      front.push_back(o);
  return front;
}

}  // namespace

std::vector<MetricVerdict> verdict_of(const StudyResult& result) {
  std::vector<MetricVerdict> verdicts;
  for (std::size_t m = 0; m < result.metrics.size(); ++m) {
    const StudyMetricSpec& spec = result.metrics[m].spec;
    MetricVerdict& verdict = verdicts.emplace_back();
    verdict.metric = spec.name;
    verdict.unit = result.metrics[m].unit;
    verdict.aim = spec.better;
    verdict.cells = cells_of(result, m);
    verdict.runs = result.rows.size();
    verdict.without_value = verdict.runs;
    for (const StudyCell& cell : verdict.cells) verdict.without_value -= cell.runs;
    for (std::size_t d = 0; d < result.plan.dimensions().size(); ++d)
      verdict.dimensions.push_back(judge_dimension(result.plan, d, spec.better, verdict.cells));
    verdict.ranking = ranking_of(verdict.dimensions);
    verdict.crossed = combinations_of(verdict.dimensions);
    if (spec.better != StudyAim::kNone) {
      find_offers(verdict);
      verdict.pareto = pareto_of(verdict.offers, spec.better);
    }
    verdict.sentences = sentences_of(verdict, result.plan);
  }
  return verdicts;
}

}  // namespace rnicsim
