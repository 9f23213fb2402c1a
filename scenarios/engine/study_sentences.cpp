// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/engine/study_dimension_text.h"
#include "scenarios/engine/study_statistics.h"
#include "scenarios/engine/study_words.h"

namespace rnicsim {
namespace {

constexpr std::size_t kToldParetoPoints = 6;
/// Of the combinations: with more missing, dimensions share too much of their effects to be ranked.
constexpr double kMostMissing = 0.1;

bool is_varied(const DimensionVerdict& d) { return d.order.size() > 1; }

std::string of_ranking(const MetricVerdict& v) {
  const std::size_t missing = v.crossed - v.cells.size();
  if (static_cast<double>(missing) > kMostMissing * static_cast<double>(v.crossed))
    return fmt::format(
        "Only {} of {} combinations of the axes have a value: which axis {} depends on most is not "
        "to be told from them.",
        v.cells.size(), v.crossed, v.metric);
  std::string text = fmt::format("What {} depends on", v.metric);
  const auto [least, most] =
      std::minmax_element(v.cells.begin(), v.cells.end(),
                          [](const StudyCell& a, const StudyCell& b) { return a.mean < b.mean; });
  const double spread = relative_change(least->mean, most->mean);
  if (spread < kWorthwhileGain)
    text += fmt::format(", though it varies by {} only", percent_text(spread));
  if (missing != 0)
    text += fmt::format(", by {} of {} combinations of the axes", v.cells.size(), v.crossed);
  text += ':';
  const char* before = "";
  for (const std::size_t d : v.ranking) {
    if (!is_varied(v.dimensions[d])) continue;
    text += fmt::format("{} {} ({} of its variance)", before, v.dimensions[d].name,
                        percent_text(v.dimensions[d].effect));
    before = ",";
  }
  return text + '.';
}

std::string offer_label(const StudyOffer& offer, const MetricVerdict& v, const StudyPlan& plan) {
  StudyPoint point{0, std::vector<std::size_t>(v.dimensions.size()), 0};
  for (std::size_t i = 0; i < v.paid.size(); ++i) point.positions[v.paid[i]] = offer.at[i];
  std::string text;
  for (const std::size_t d : v.paid)
    for (const std::size_t a : plan.dimensions()[d].axes)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", plan.axes()[a].name,
                          plan.shown(point, a));
  return text;
}

std::string number_text(double value) {
  return value == std::floor(value) ? fmt::format("{}", value) : fmt::format("{:.6g}", value);
}

/// The dimensions that change the cost, or the others.
std::string names_of(const MetricVerdict& v, bool paid) {
  std::string names;
  for (std::size_t d = 0; d < v.dimensions.size(); ++d) {
    const bool is_paid = std::find(v.paid.begin(), v.paid.end(), d) != v.paid.end();
    if (is_varied(v.dimensions[d]) && is_paid == paid)
      names += (names.empty() ? "" : " and ") + v.dimensions[d].name;
  }
  return names;
}

/// What the offers are means over.
std::string averaged_over(const MetricVerdict& v) {
  const std::string names = names_of(v, false);
  if (names.empty()) return "";
  std::size_t settings = v.crossed;
  for (const std::size_t d : v.paid) settings /= v.dimensions[d].order.size();
  if (v.settings == settings) return ", averaged over " + names + ",";
  return fmt::format(", averaged over {} of {} settings of {} (those with a value everywhere),",
                     v.settings, settings, names);
}

std::string of_pareto(const MetricVerdict& v, const StudyPlan& plan) {
  const StudyCostSpec& cost = *plan.spec().cost;
  if (v.paid.empty()) return cost.name + " is the same at every point.";
  if (v.offers.empty())
    return fmt::format(
        "There is no Pareto front of {} against {}: no setting of {} has a value at every {}.",
        v.metric, cost.name, names_of(v, false), names_of(v, true));
  std::string text =
      fmt::format("On the Pareto front of {}{} against {} {} {} of {} {}:", v.metric,
                  averaged_over(v), cost.name, v.pareto.size() == 1 ? "is" : "are", v.pareto.size(),
                  v.offers.size(), v.settings == 1 ? "points" : "settings");
  for (std::size_t i = 0; i < std::min(v.pareto.size(), kToldParetoPoints); ++i) {
    const StudyOffer& offer = v.offers[v.pareto[i]];
    text += fmt::format("{} {}{}{} ({})", i == 0 ? "" : ";", number_text(offer.cost),
                        cost.unit.empty() ? "" : " ", cost.unit, offer_label(offer, v, plan));
  }
  if (v.pareto.size() > kToldParetoPoints) text += "; ...";
  return text + '.';
}

std::string of_confidence(const MetricVerdict& v) {
  double widest = 0;
  std::size_t without = 0;
  bool any = false;
  for (const StudyCell& cell : v.cells) {
    if (!cell.half_width) ++without;
    if (!cell.half_width || cell.mean == 0) continue;
    any = true;
    widest = std::max(widest, *cell.half_width / std::abs(cell.mean));
  }
  if (!any) return {};
  return fmt::format(
      "Each mean's own 95 % confidence interval reaches at most {} to either side{}.",
      percent_text(widest),
      without == 0 ? "" : fmt::format("; {} {} none", without, without == 1 ? "has" : "have"));
}

/// A step that the seeds may have made.
std::string of_noise(const MetricVerdict& v) {
  std::size_t steps = 0;
  std::size_t noise = 0;
  for (const DimensionVerdict& dimension : v.dimensions) {
    for (const StudyStep& step : dimension.steps) {
      if (!step.mean || !step.mean->half_width || step.mean->gain == 0) continue;
      ++steps;
      if (step.mean->is_noise()) ++noise;
    }
  }
  if (noise == 0) return {};
  return fmt::format(
      "Other seeds might turn {} of {} steps round: their gains are within the noise.", noise,
      steps);
}

bool never_changes(const MetricVerdict& v) {
  return std::all_of(v.cells.begin(), v.cells.end(),
                     [&](const StudyCell& cell) { return cell.mean == v.cells.front().mean; });
}

std::vector<std::string> of_dimensions(const MetricVerdict& v) {
  if (v.cells.size() == 1) return {fmt::format("Only one point has a value of {}.", v.metric)};
  if (never_changes(v)) return {v.metric + " is the same at every point."};
  std::vector<std::string> texts;
  for (std::size_t d = 0; d < v.dimensions.size(); ++d) {
    if (!is_varied(v.dimensions[d])) continue;
    for (std::string& text : dimension_sentences(v, d)) texts.push_back(std::move(text));
  }
  if (std::count_if(v.dimensions.begin(), v.dimensions.end(), is_varied) > 1)
    texts.push_back(of_ranking(v));
  return texts;
}

}  // namespace

std::vector<std::string> sentences_of(const MetricVerdict& verdict, const StudyPlan& plan) {
  if (verdict.cells.empty()) return {"No point has a value of " + verdict.metric + "."};
  std::vector<std::string> sentences = of_dimensions(verdict);
  if (verdict.without_value != 0)
    sentences.push_back(fmt::format("{} of {} runs have no value of {}.", verdict.without_value,
                                    verdict.runs, verdict.metric));
  if (plan.spec().cost && verdict.aim != StudyAim::kNone && !never_changes(verdict))
    sentences.push_back(of_pareto(verdict, plan));
  for (const std::string& text : {of_confidence(verdict), of_noise(verdict)})
    if (!text.empty()) sentences.push_back(text);
  return sentences;
}

}  // namespace rnicsim
