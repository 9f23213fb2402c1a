// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/engine/study_statistics.h"

namespace rnicsim {
namespace {

constexpr std::size_t kToldParetoPoints = 6;
constexpr double kLittle = 0.001;  ///< of a value: no difference to speak of

std::string percent(double part) {
  const double points = std::abs(part) * 100;
  if (points > 0 && points < 0.1) return "under 0.1 %";
  return points < 10 ? fmt::format("{:.2g} %", points) : fmt::format("{:.0f} %", points);
}

std::string factor(double ratio) {
  return ratio < 1000 ? fmt::format("{:.3g} times", ratio) : fmt::format("{:.0f} times", ratio);
}

/// "50 % lower"; a factor where a percentage would be long.
std::string higher_or_lower(double change) {
  if (change >= 1) return factor(1 + change) + " as high";
  if (change >= 0) return percent(change) + " higher";
  return change > -1 && change < -0.995 ? "over 99 % lower" : percent(change) + " lower";
}

/// What a step does to the metric, whether that is good or bad.
std::string done_by(const StudyStep& step, StudyAim aim) {
  const double sign = aim == StudyAim::kLess ? -1 : 1;
  const double change = sign * *step.gain;
  if (std::isinf(change)) return change > 0 ? "raises it from 0" : "lowers it from 0";
  if (change == -1) return "brings it to 0";
  std::string text = "makes it " + higher_or_lower(change);
  // What a step shorter than a doubling would be over a whole one is no observation.
  constexpr double kRounding = 1e-6;
  if (step.per_doubling && std::abs(*step.per_doubling) < std::abs(*step.gain) - kRounding)
    text += fmt::format(", which is {} per doubling", higher_or_lower(sign * *step.per_doubling));
  return text;
}

class DimensionText {
 public:
  DimensionText(const DimensionVerdict& dimension, const MetricVerdict& verdict)
      : d_(dimension), metric_(verdict.metric), aim_(verdict.aim) {
    const auto less = [&](std::size_t p, std::size_t q) { return mean(p) < mean(q); };
    high_ = *std::max_element(d_.order.begin(), d_.order.end(), less);
    low_ = *std::min_element(d_.order.begin(), d_.order.end(), less);
  }

  std::vector<std::string> sentences() const {
    const bool has_steps = !d_.steps.empty() &&
                           std::all_of(d_.steps.begin(), d_.steps.end(),
                                       [](const StudyStep& step) { return step.gain.has_value(); });
    std::vector<std::string> texts{has_steps ? of_steps() : of_choices()};
    if (!d_.comparable)
      texts.push_back(fmt::format("No setting of the other axes has a value at every {}: {}.",
                                  d_.name,
                                  has_steps ? "each step is judged by those that have both its ends"
                                            : "its means are not of the same points"));
    return texts;
  }

 private:
  double mean(std::size_t position) const { return *d_.means[position]; }
  const std::string& label(std::size_t position) const { return d_.labels[position]; }
  double gain(const StudyStep& step) const { return *judged_gain(d_, step); }
  const char* unit() const { return d_.scale == StepScale::kDoubling ? "doubling" : "step"; }

  bool differs() const { return mean(high_) - mean(low_) > kLittle * std::abs(mean(high_)); }

  std::string of_steps() const {
    const bool matters =
        differs() || std::any_of(d_.steps.begin(), d_.steps.end(), [](const StudyStep& step) {
          return std::abs(*step.gain) > kLittle;
        });
    if (!matters) return of_no_difference();
    const StudyStep& worst = *std::min_element(
        d_.steps.begin(), d_.steps.end(),
        [&](const StudyStep& a, const StudyStep& b) { return gain(a) < gain(b); });
    const bool suffers = gain(worst) <= -kWorthwhileGain;
    const std::string loss = fmt::format("the step from {} to {} {}", label(worst.from),
                                         label(worst.to), done_by(worst, aim_));
    if (suffers && d_.comparable && d_.enough == d_.order.front() && d_.best == d_.enough)
      return fmt::format("{} is best at the least {}, {}; {}.", metric_, d_.name, label(*d_.best),
                         loss);
    std::string text = of_last_worthwhile();
    if (d_.knee) text += fmt::format("; the knee is at {}", label(*d_.knee));
    if (!suffers && d_.enough == d_.order.front()) text += of_whole_way();
    if (suffers) text += "; but " + loss;
    if (suffers && d_.comparable) text += fmt::format("; it is best at {}", label(*d_.best));
    return text + '.';
  }

  std::string of_last_worthwhile() const {
    const StudyStep& last = d_.steps.back();
    if (!d_.enough)
      return fmt::format("{} still improves at the end of {}: the last step, from {} to {}, {}",
                         metric_, d_.name, label(last.from), label(last.to), done_by(last, aim_));
    if (*d_.enough == d_.order.front())
      return fmt::format("Nowhere does more {} improve {} by 5 % per {}", d_.name, metric_, unit());
    return fmt::format("Past {} = {}, more improves {} by less than 5 % per {}", d_.name,
                       label(*d_.enough), metric_, unit());
  }

  /// Many small gains may add up.
  std::string of_whole_way() const {
    if (!d_.comparable || d_.best == d_.order.front()) return {};
    const double change = relative_change(mean(d_.order.front()), mean(*d_.best));
    if (std::abs(change) < kWorthwhileGain || std::isinf(change)) return {};
    const bool several = d_.order.size() > 2;
    return fmt::format("; {} to {}{} it {}", several ? "all steps" : "the step", label(*d_.best),
                       several ? ", the best, together make" : " makes", higher_or_lower(change));
  }

  std::string of_no_difference() const {
    return fmt::format("{} makes no difference to {}.", d_.name, metric_);
  }

  std::string of_choices() const {
    if (!differs()) return of_no_difference();
    std::string text = aim_ == StudyAim::kLess ? of_lowest() : of_highest();
    if (aim_ != StudyAim::kNone && d_.scale == StepScale::kChoice)
      text += fmt::format("; {} has no order, and so no knee", d_.name);
    return text + '.';
  }

  std::string of_highest() const {
    const bool judged = aim_ != StudyAim::kNone;
    const char* other = judged ? "the worst" : "the lowest";
    const std::string text = fmt::format("{} is {} with {} = {}", metric_,
                                         judged ? "best" : "highest", d_.name, label(high_));
    if (mean(low_) <= 0)
      return fmt::format("{}; {} is {}{}", text, other, label(low_), at_zero(low_));
    return fmt::format("{}: {} as high as with {}{}", text, factor(mean(high_) / mean(low_)),
                       label(low_), if_several(other));
  }

  std::string of_lowest() const {
    const std::string text = fmt::format("{} is best with {} = {}", metric_, d_.name, label(low_));
    if (mean(low_) <= 0)
      return fmt::format("{}{}; the worst is {}", text, at_zero(low_), label(high_));
    return fmt::format("{}; with {}{} it is {} as high", text, label(high_),
                       if_several("the worst,"), factor(mean(high_) / mean(low_)));
  }

  /// Of two it goes without saying.
  std::string if_several(const std::string& text) const {
    return d_.order.size() > 2 ? ", " + text : "";
  }

  std::string at_zero(std::size_t position) const {
    return mean(position) == 0 ? ", where it is 0" : "";
  }

  const DimensionVerdict& d_;
  const std::string& metric_;
  StudyAim aim_;
  std::size_t high_ = 0;
  std::size_t low_ = 0;
};

bool is_varied(const DimensionVerdict& d) { return d.order.size() > 1; }

std::string of_ranking(const MetricVerdict& v) {
  std::string text = fmt::format("What {} depends on", v.metric);
  const auto [least, most] =
      std::minmax_element(v.cells.begin(), v.cells.end(),
                          [](const StudyCell& a, const StudyCell& b) { return a.mean < b.mean; });
  const double spread = relative_change(least->mean, most->mean);
  if (spread < kWorthwhileGain)
    text += fmt::format(", though it varies by {} only", percent(spread));
  text += ':';
  const char* before = "";
  for (const std::size_t d : v.ranking) {
    if (!is_varied(v.dimensions[d])) continue;
    text += fmt::format("{} {} ({} of its variance)", before, v.dimensions[d].name,
                        percent(v.dimensions[d].effect));
    before = ",";
  }
  return text + '.';
}

std::string cell_label(const StudyCell& cell, const StudyPlan& plan) {
  const StudyPoint point{0, cell.positions, 0};
  std::string text;
  for (std::size_t a = 0; a < plan.axes().size(); ++a)
    text += fmt::format("{}{} {}", a == 0 ? "" : ", ", plan.axes()[a].name, plan.shown(point, a));
  return text;
}

std::string number_text(double value) {
  return value == std::floor(value) ? fmt::format("{}", value) : fmt::format("{:.6g}", value);
}

std::string of_pareto(const MetricVerdict& v, const StudyPlan& plan) {
  const StudyCostSpec& cost = *plan.spec().cost;
  const auto paid = std::count_if(v.cells.begin(), v.cells.end(),
                                  [](const StudyCell& cell) { return cell.cost.has_value(); });
  std::string text =
      fmt::format("On the Pareto front of {} against {} {} {} of {} points:", v.metric, cost.name,
                  v.pareto.size() == 1 ? "is" : "are", v.pareto.size(), paid);
  for (std::size_t i = 0; i < std::min(v.pareto.size(), kToldParetoPoints); ++i) {
    const StudyCell& cell = v.cells[v.pareto[i]];
    text += fmt::format("{} {}{}{} ({})", i == 0 ? "" : ";", number_text(*cell.cost),
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

bool never_changes(const MetricVerdict& v) {
  return std::all_of(v.cells.begin(), v.cells.end(),
                     [&](const StudyCell& cell) { return cell.mean == v.cells.front().mean; });
}

std::vector<std::string> of_dimensions(const MetricVerdict& v) {
  if (v.cells.size() == 1) return {fmt::format("Only one point has a value of {}.", v.metric)};
  if (never_changes(v)) return {v.metric + " is the same at every point."};
  std::vector<std::string> texts;
  for (const DimensionVerdict& dimension : v.dimensions) {
    if (!is_varied(dimension)) continue;
    for (std::string& text : DimensionText(dimension, v).sentences())
      texts.push_back(std::move(text));
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
  if (!verdict.pareto.empty() && !never_changes(verdict))
    sentences.push_back(of_pareto(verdict, plan));
  const std::string confidence = of_confidence(verdict);
  if (!confidence.empty()) sentences.push_back(confidence);
  return sentences;
}

}  // namespace rnicsim
