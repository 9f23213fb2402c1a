// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rnicsim {
namespace {

constexpr std::size_t kToldParetoPoints = 6;
constexpr double kLittle = 0.001;  ///< of a value: no difference to speak of

std::string percent(double part) {
  const double points = std::abs(part) * 100;
  if (points > 0 && points < 0.1) return "under 0.1 %";
  return points < 10 ? fmt::format("{:.2g} %", points) : fmt::format("{:.0f} %", points);
}

/// A factor where a percentage would be long.
std::string growth(double gain) {
  return gain >= 1 ? fmt::format("{:.3g} times as good", gain + 1) : percent(gain) + " better";
}
std::string loss(double gain) {
  return gain <= -1 ? fmt::format("{:.3g} times as bad", 1 - gain) : percent(gain) + " worse";
}

bool has_values(const DimensionVerdict& d) { return d.best.has_value(); }

std::string of_growing(const DimensionVerdict& d, const std::string& metric) {
  const std::size_t last = d.labels.size() - 1;
  std::string text;
  if (!d.enough) {
    text = fmt::format("{} still gains at the end of {}: the last step, from {} to {}, makes it {}",
                       metric, d.name, d.labels[last - 1], d.labels[last], growth(*d.gains.back()));
  } else if (*d.enough == 0) {
    text = fmt::format("No step of {} makes {} 5 % better", d.name, metric);
  } else {
    text = fmt::format("Past {} = {}, more buys less than 5 % of {} a step", d.name,
                       d.labels[*d.enough], metric);
  }
  if (d.knee) text += fmt::format("; the knee is at {}", d.labels[*d.knee]);
  const auto worst = std::min_element(d.gains.begin(), d.gains.end(),
                                      [](const auto& a, const auto& b) { return *a < *b; });
  if (**worst <= -kWorthwhileGain) {
    const auto step = static_cast<std::size_t>(worst - d.gains.begin());
    text += fmt::format("; from {} to {} it gets {}", d.labels[step], d.labels[step + 1],
                        loss(**worst));
  }
  return text + '.';
}

std::string of_choices(const DimensionVerdict& d, const std::string& metric) {
  std::size_t worst = *d.best;
  for (std::size_t p = 0; p < d.means.size(); ++p)
    if (d.means[p] &&
        std::abs(*d.means[p] - *d.means[*d.best]) > std::abs(*d.means[worst] - *d.means[*d.best]))
      worst = p;
  const double difference = std::abs(*d.means[*d.best] - *d.means[worst]);
  if (difference <= kLittle * std::abs(*d.means[worst]))
    return fmt::format("{} makes no difference to {}.", d.name, metric);
  const double ratio = *d.means[*d.best] / *d.means[worst];
  const std::string than = std::isfinite(ratio) && ratio != 0
                               ? fmt::format(": {:.3g} times that of {}", ratio, d.labels[worst])
                               : fmt::format(", {} for the worst", d.labels[worst]);
  return fmt::format("{} is best with {} = {}{}.", metric, d.name, d.labels[*d.best], than);
}

std::string of_dimension(const DimensionVerdict& d, const std::string& metric) {
  const bool steps = std::all_of(d.gains.begin(), d.gains.end(),
                                 [](const auto& gain) { return gain.has_value(); });
  return d.grows && steps && !d.gains.empty() ? of_growing(d, metric) : of_choices(d, metric);
}

std::string of_ranking(const MetricVerdict& v) {
  std::string text = fmt::format("What {} depends on:", v.metric);
  for (const std::size_t d : v.ranking)
    text += fmt::format("{} {} ({} of its variance)", d == v.ranking.front() ? "" : ",",
                        v.dimensions[d].name, percent(v.dimensions[d].effect));
  return text + '.';
}

std::string cell_label(const StudyCell& cell, const StudyPlan& plan) {
  const StudyPoint point{0, cell.positions, 0};
  std::string text;
  for (std::size_t a = 0; a < plan.axes().size(); ++a)
    text += fmt::format("{}{} {}", a == 0 ? "" : ", ", plan.axes()[a].name, plan.label(point, a));
  return text;
}

std::string of_pareto(const MetricVerdict& v, const StudyPlan& plan) {
  const StudyCostSpec& cost = *plan.spec().cost;
  std::string text = fmt::format("{} of {} points {} worth the {}:", v.pareto.size(),
                                 v.cells.size(), v.pareto.size() == 1 ? "is" : "are", cost.name);
  for (std::size_t i = 0; i < std::min(v.pareto.size(), kToldParetoPoints); ++i) {
    const StudyCell& cell = v.cells[v.pareto[i]];
    text += fmt::format("{} {}{}{} ({})", i == 0 ? "" : ";", *cell.cost,
                        cost.unit.empty() ? "" : " ", cost.unit, cell_label(cell, plan));
  }
  if (v.pareto.size() > kToldParetoPoints) text += "; ...";
  return text + '.';
}

std::string of_confidence(const MetricVerdict& v) {
  double widest = 0;
  std::size_t repeated = 0;
  for (const StudyCell& cell : v.cells) {
    if (!cell.half_width || cell.mean == 0) continue;
    ++repeated;
    widest = std::max(widest, *cell.half_width / std::abs(cell.mean));
  }
  if (repeated == 0) return {};
  const std::size_t without = v.cells.size() - repeated;
  return fmt::format(
      "Each mean's own 95 % confidence interval reaches at most {} to either side{}.",
      percent(widest), without == 0 ? "" : fmt::format("; {} have none", without));
}

}  // namespace

std::vector<std::string> sentences_of(const MetricVerdict& verdict, const StudyPlan& plan) {
  std::vector<std::string> sentences;
  if (verdict.cells.empty()) return {"No point has a value of " + verdict.metric + "."};
  for (const DimensionVerdict& dimension : verdict.dimensions)
    if (has_values(dimension) && dimension.labels.size() > 1)
      sentences.push_back(of_dimension(dimension, verdict.metric));
  if (verdict.dimensions.size() > 1) sentences.push_back(of_ranking(verdict));
  if (!verdict.pareto.empty()) sentences.push_back(of_pareto(verdict, plan));
  const std::string confidence = of_confidence(verdict);
  if (!confidence.empty()) sentences.push_back(confidence);
  return sentences;
}

}  // namespace rnicsim
