// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/engine/study_sentences.h"
#include "scenarios/engine/study_statistics.h"
#include "scenarios/engine/study_value.h"

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

/// What is told of one dimension: the cells seen along it.
class DimensionJudge {
 public:
  DimensionJudge(const StudyPlan& plan, std::size_t dimension, StudyAim aim)
      : plan_(plan),
        dimension_(dimension),
        sign_(aim == StudyAim::kMore ? 1 : -1),
        size_(plan.dimensions()[dimension].positions.size()) {}

  DimensionVerdict judge(const std::vector<StudyCell>& cells) {
    DimensionVerdict verdict;
    verdict.name = plan_.dimensions()[dimension_].name;
    for (std::size_t p = 0; p < size_; ++p)
      verdict.labels.push_back(plan_.position_label(dimension_, p));
    verdict.grows = grows();
    const std::vector<std::vector<std::optional<double>>> lines = lines_of(cells);
    verdict.means = means(lines);
    for (std::size_t p = 0; p + 1 < size_; ++p) verdict.gains.push_back(gain(lines, p));
    for (std::size_t p = 0; p < size_; ++p) {
      const std::optional<double>& mean = verdict.means[p];
      if (mean && (!verdict.best || sign_ * *mean > sign_ * *verdict.means[*verdict.best]))
        verdict.best = p;
    }
    if (verdict.grows) find_bends(verdict);
    verdict.effect = effect(cells);
    return verdict;
  }

 private:
  /// By the first of its axes.
  bool grows() const {
    const StudyDimension& dimension = plan_.dimensions()[dimension_];
    const StudyAxis& axis = plan_.axes()[dimension.axes[0]];
    std::optional<double> before;
    for (const Positions& position : dimension.positions) {
      const std::optional<double> number = number_of_text(axis.labels[position[0]]);
      if (!number || (before && *number <= *before)) return false;
      before = number;
    }
    return true;
  }

  std::vector<std::vector<std::optional<double>>> lines_of(
      const std::vector<StudyCell>& cells) const {
    std::map<Positions, std::vector<std::optional<double>>> lines;
    for (const StudyCell& cell : cells) {
      Positions others = cell.positions;
      others[dimension_] = 0;
      std::vector<std::optional<double>>& line = lines[others];
      line.resize(size_);
      line[cell.positions[dimension_]] = cell.mean;
    }
    std::vector<std::vector<std::optional<double>>> found;
    found.reserve(lines.size());
    for (auto& [others, line] : lines) found.push_back(std::move(line));
    return found;
  }

  std::vector<std::optional<double>> means(
      const std::vector<std::vector<std::optional<double>>>& lines) const {
    const auto is_complete = [](const std::vector<std::optional<double>>& line) {
      return std::all_of(line.begin(), line.end(), [](const auto& v) { return v.has_value(); });
    };
    const bool some = std::any_of(lines.begin(), lines.end(), is_complete);
    std::vector<std::optional<double>> means(size_);
    for (std::size_t p = 0; p < size_; ++p) {
      std::vector<double> values;
      for (const auto& line : lines)
        if (line[p] && (!some || is_complete(line))) values.push_back(*line[p]);
      if (!values.empty()) means[p] = mean_of(values);
    }
    return means;
  }

  std::optional<double> gain(const std::vector<std::vector<std::optional<double>>>& lines,
                             std::size_t from) const {
    std::vector<double> gains;
    for (const auto& line : lines)
      if (line[from] && line[from + 1] && *line[from] != 0)
        gains.push_back(sign_ * (*line[from + 1] - *line[from]) / std::abs(*line[from]));
    return gains.empty() ? std::nullopt : std::optional<double>(mean_of(gains));
  }

  void find_bends(DimensionVerdict& verdict) const {
    std::vector<double> gains;
    for (const std::optional<double>& gain : verdict.gains) {
      if (!gain) return;
      gains.push_back(*gain);
    }
    verdict.enough = enough_of(gains, kWorthwhileGain);
    std::vector<double> curve;
    for (const std::optional<double>& mean : verdict.means) {
      if (!mean) return;
      curve.push_back(sign_ * *mean);
    }
    verdict.knee = knee_of(curve, kWorthwhileGain);
  }

  double effect(const std::vector<StudyCell>& cells) const {
    if (cells.empty()) return 0;
    std::vector<double> all;
    std::map<std::size_t, std::vector<double>> at;
    for (const StudyCell& cell : cells) {
      all.push_back(cell.mean);
      at[cell.positions[dimension_]].push_back(cell.mean);
    }
    const double mean = mean_of(all);
    double total = 0;
    for (const double value : all) total += (value - mean) * (value - mean);
    double own = 0;
    for (const auto& [position, values] : at) {
      const double off = mean_of(values) - mean;
      own += off * off * static_cast<double>(values.size());
    }
    return total == 0 ? 0 : own / total;
  }

  const StudyPlan& plan_;
  std::size_t dimension_;
  double sign_;
  std::size_t size_;
};

std::vector<std::size_t> ranking_of(const std::vector<DimensionVerdict>& dimensions) {
  std::vector<std::size_t> ranking;
  for (std::size_t d = 0; d < dimensions.size(); ++d) ranking.push_back(d);
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    return dimensions[a].effect > dimensions[b].effect;
  });
  return ranking;
}

std::vector<std::size_t> pareto_of(const std::vector<StudyCell>& cells, StudyAim aim) {
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

std::vector<MetricVerdict> verdict_of(const StudyResult& result) {
  std::vector<MetricVerdict> verdicts;
  for (std::size_t m = 0; m < result.metrics.size(); ++m) {
    const StudyMetricSpec& spec = result.metrics[m].spec;
    MetricVerdict& verdict = verdicts.emplace_back();
    verdict.metric = spec.name;
    verdict.cells = cells_of(result, m);
    for (std::size_t d = 0; d < result.plan.dimensions().size(); ++d)
      verdict.dimensions.push_back(
          DimensionJudge(result.plan, d, spec.better).judge(verdict.cells));
    verdict.ranking = ranking_of(verdict.dimensions);
    verdict.pareto = pareto_of(verdict.cells, spec.better);
    verdict.sentences = sentences_of(verdict, result.plan);
  }
  return verdicts;
}

}  // namespace rnicsim
