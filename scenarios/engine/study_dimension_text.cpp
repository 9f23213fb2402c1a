// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_dimension_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/engine/study_statistics.h"
#include "scenarios/engine/study_words.h"

namespace rnicsim {
namespace {

constexpr double kLittle = 0.001;     ///< of a value: no difference to speak of
constexpr double kSmallFactor = 1.1;  ///< less is told in percent
constexpr const char* kNoise = ", within the noise of the seeds";

/// One end of a range of changes.
std::string change_text(double change) {
  if (std::isinf(change)) return change > 0 ? "a rise from 0" : "a fall from 0";
  if (change == 0) return "no change";
  return change == -1 ? "a fall to 0" : higher_or_lower(change);
}

std::string range_text(double a, double b) {
  if (std::abs(a) > std::abs(b)) std::swap(a, b);
  const auto is_plain = [](double change) { return std::abs(change) < 0.995; };
  if (a * b >= 0 && is_plain(a) && is_plain(b))
    return fmt::format("{} to {}", percent_text(a), percent_text(b));
  return fmt::format("{} to {}", change_text(a), change_text(b));
}

class DimensionText {
 public:
  DimensionText(const MetricVerdict& verdict, std::size_t dimension)
      : d_(verdict.dimensions[dimension]), verdict_(verdict), metric_(verdict.metric) {
    const auto less = [&](std::size_t p, std::size_t q) { return mean(p) < mean(q); };
    high_ = *std::max_element(d_.order.begin(), d_.order.end(), less);
    low_ = *std::min_element(d_.order.begin(), d_.order.end(), less);
    for (std::size_t o = 0; o < verdict.dimensions.size(); ++o)
      if (o != dimension && verdict.dimensions[o].order.size() > 1) others_.push_back(o);
  }

  std::vector<std::string> sentences() const {
    const bool has_steps = !d_.steps.empty() &&
                           std::all_of(d_.steps.begin(), d_.steps.end(),
                                       [](const StudyStep& step) { return step.mean.has_value(); });
    std::vector<std::string> texts{has_steps ? of_steps() : of_choices()};
    if (!d_.comparable)
      texts.push_back(fmt::format("No setting of the other axes has a value at every {}: {}.",
                                  d_.name,
                                  has_steps ? "each step is judged by those that have both its ends"
                                            : "its means are not of the same points"));
    return texts;
  }

 private:
  double sign() const { return verdict_.aim == StudyAim::kLess ? -1 : 1; }
  double mean(std::size_t position) const { return *d_.means[position]; }
  const std::string& label(std::size_t position) const { return d_.labels[position]; }
  std::string amount(std::size_t position) const {
    return amount_text(mean(position), verdict_.unit);
  }
  std::string unit() const {
    if (d_.scale != StepScale::kDoubling) return "step";
    return d_.along == d_.name ? "doubling" : "doubling of " + d_.along;
  }
  const char* on_average() const { return d_.lines.size() > 1 ? "on average " : ""; }
  std::size_t place(std::size_t position) const {
    return static_cast<std::size_t>(std::find(d_.order.begin(), d_.order.end(), position) -
                                    d_.order.begin());
  }

  /// "size 64 KiB": what makes a line this one.
  std::string name_of(const StudyLine& line) const {
    std::string text;
    for (const std::size_t o : others_)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", verdict_.dimensions[o].name,
                          verdict_.dimensions[o].labels[line.at[o]]);
    return text;
  }
  std::string name_of(const StepGain& gain) const { return name_of(d_.lines[gain.line]); }
  /// What tells a step's least line from its greatest.
  std::string difference_of(const StudyStep& step) const {
    std::string names;
    for (const std::size_t o : others_)
      if (d_.lines[step.least->line].at[o] != d_.lines[step.most->line].at[o])
        names += (names.empty() ? "" : " and ") + verdict_.dimensions[o].name;
    return names;
  }

  /// What a step does to the metric, whether that is good or bad.
  std::string done_by(const StepGain& gain, const std::string& range = "") const {
    const double change = sign() * gain.gain;
    std::string text = change == 0 ? "makes no difference" : "makes it " + change_text(change);
    if (std::isinf(change)) text = change > 0 ? "raises it from 0" : "lowers it from 0";
    if (change == -1) text = "brings it to 0";
    text += range;
    // What a step shorter than a doubling would be over a whole one is no observation.
    constexpr double kRounding = 1e-6;
    if (gain.per_doubling && std::abs(*gain.per_doubling) < std::abs(gain.gain) - kRounding)
      text +=
          fmt::format(", which is {} per {}", higher_or_lower(sign() * *gain.per_doubling), unit());
    return text + (gain.is_noise() ? kNoise : "");
  }

  /// The same of the mean over the lines.
  std::string done_by(const StudyStep& step) const {
    const double least = sign() * step.least->gain;
    const double most = sign() * step.most->gain;
    if (change_text(least) == change_text(most)) return done_by(*step.mean);
    return "on average " + done_by(*step.mean, fmt::format(" ({}, by {})", range_text(least, most),
                                                           difference_of(step)));
  }

  std::string name_of(const StudyStep& step) const {
    return fmt::format("from {} to {}", label(step.from), label(step.to));
  }

  bool differs() const {
    return differ(d_.means) ||
           std::any_of(d_.lines.begin(), d_.lines.end(),
                       [&](const StudyLine& line) { return differ(line.values); });
  }

  static bool differ(const std::vector<std::optional<double>>& values) {
    std::optional<double> low;
    std::optional<double> high;
    for (const std::optional<double>& value : values) {
      if (value && (!low || *value < *low)) low = value;
      if (value && (!high || *value > *high)) high = value;
    }
    return low && *high - *low > kLittle * std::abs(*high);
  }

  std::string of_steps() const {
    if (!differs()) return of_no_difference();
    const StudyStep& worst = *std::min_element(
        d_.steps.begin(), d_.steps.end(),
        [](const StudyStep& a, const StudyStep& b) { return a.mean->judged() < b.mean->judged(); });
    const bool suffers = worst.mean->judged() <= -kWorthwhileGain;
    if (suffers && d_.comparable && d_.enough_everywhere == d_.order.front() &&
        d_.best == d_.order.front())
      return fmt::format("{} is {}best at the least {}, {}; the step {} {}{}.", metric_,
                         on_average(), d_.name, label(*d_.best), name_of(worst), done_by(worst),
                         worst.to == d_.order.back() ? "" : of_fall());
    std::string text = of_last_worthwhile();
    if (d_.knee)
      text += fmt::format("; the knee{} is at {}", d_.lines.size() > 1 ? " of the average" : "",
                          label(*d_.knee));
    text += of_whole_way();
    text += suffers ? fmt::format("; but the step {} {}", name_of(worst), done_by(worst))
                    : of_loss_somewhere();
    const bool told = suffers && worst.from == d_.best && worst.to == d_.order.back();
    const std::string fall = told ? "" : of_fall();
    if (suffers && d_.comparable && fall.empty())
      text += fmt::format("; {}it is best at {}", on_average(), label(*d_.best));
    return text + fall + '.';
  }

  std::string of_last_worthwhile() const {
    const StudyStep& last = d_.steps.back();
    if (!d_.enough)
      return fmt::format("{} still improves at the end of {}: the last step, {}, {}", metric_,
                         d_.name, name_of(last), done_by(last));
    if (!d_.enough_everywhere)
      return fmt::format(
          "{} still improves at the end of {} with {}: the last step, {}, {}; on average {}",
          metric_, d_.name, name_of(*last.most), name_of(last), done_by(*last.most),
          *d_.enough == d_.order.front()
              ? fmt::format("no step improves it by 5 % per {}", unit())
              : fmt::format("more improves it by less than 5 % per {} past {}", unit(),
                            label(*d_.enough)));
    if (*d_.enough_everywhere == d_.order.front())
      return fmt::format("Nowhere does more {} improve {} by 5 % per {}", d_.name, metric_, unit());
    std::string text = fmt::format("Past {} = {}, more improves {} by less than 5 % per {}",
                                   d_.name, label(*d_.enough_everywhere), metric_, unit());
    if (d_.enough == d_.enough_everywhere) return text;
    const StudyStep& late = d_.steps[place(*d_.enough_everywhere) - 1];
    return text +
           fmt::format("; on average that holds {} already, but with {} the step {} {}",
                       *d_.enough == d_.order.front() ? "everywhere" : "past " + label(*d_.enough),
                       name_of(*late.most), name_of(late), done_by(*late.most));
  }

  /// Many small gains may add up, from where each of them is too small.
  std::string of_whole_way() const {
    if (!d_.comparable || !d_.enough_everywhere) return {};
    const std::size_t start = place(*d_.enough_everywhere);
    const std::size_t best = place(*d_.best);
    if (best <= start) return {};
    const double change = relative_change(mean(*d_.enough_everywhere), mean(*d_.best));
    if (std::abs(change) < kWorthwhileGain || std::isinf(change)) return {};
    if (best == start + 1)
      return fmt::format("; the step to {} {}makes it {}", label(*d_.best), on_average(),
                         higher_or_lower(change));
    return fmt::format("; all steps{} to {}, the best, {}together make it {}",
                       start == 0 ? "" : " from " + label(*d_.enough_everywhere), label(*d_.best),
                       on_average(), higher_or_lower(change));
  }

  /// What the mean does not show.
  std::string of_loss_somewhere() const {
    const StudyStep& worst = *std::min_element(d_.steps.begin(), d_.steps.end(),
                                               [](const StudyStep& a, const StudyStep& b) {
                                                 return a.least->judged() < b.least->judged();
                                               });
    if (d_.lines.size() == 1 || worst.least->judged() > -kWorthwhileGain) return {};
    return fmt::format("; but with {} the step {} {}", name_of(*worst.least), name_of(worst),
                       done_by(*worst.least));
  }

  /// Small losses may add up too.
  std::string of_fall() const {
    const std::size_t last = d_.order.back();
    if (!d_.comparable) return {};
    const double change = relative_change(mean(*d_.best), mean(last));
    if (sign() * change > -kWorthwhileGain) return {};
    return fmt::format("; from {}, the best, to {} it {}goes from {} to {}{}", label(*d_.best),
                       label(last), on_average(), amount(*d_.best), amount(last),
                       std::isinf(change) ? "" : ", " + higher_or_lower(change));
  }

  std::string of_no_difference() const {
    return fmt::format("{} makes no difference to {}.", d_.name, metric_);
  }

  std::string of_choices() const {
    if (!differs()) return of_no_difference();
    std::string text = verdict_.aim == StudyAim::kLess ? of_lowest() : of_highest();
    text += of_other_best();
    if (verdict_.aim != StudyAim::kNone && d_.scale == StepScale::kChoice)
      text += fmt::format("; {} has no order, and so no knee", d_.name);
    return text + '.';
  }

  std::string of_highest() const {
    const bool judged = verdict_.aim != StudyAim::kNone;
    const char* other = judged ? "the worst" : "the lowest";
    const std::string text = fmt::format("{} is {}{} with {} = {}", metric_, on_average(),
                                         judged ? "best" : "highest", d_.name, label(high_));
    if (mean(low_) <= 0)
      return fmt::format("{}; {} is {}{}", text, other, label(low_), at_zero(low_));
    const double ratio = mean(high_) / mean(low_);
    return fmt::format("{}: {} with {}{}", text,
                       ratio < kSmallFactor ? percent_text(ratio - 1) + " higher than"
                                            : factor_text(ratio) + " as high as",
                       label(low_), if_several(other));
  }

  std::string of_lowest() const {
    const std::string text =
        fmt::format("{} is {}best with {} = {}", metric_, on_average(), d_.name, label(low_));
    if (mean(low_) <= 0)
      return fmt::format("{}{}; the worst is {}", text, at_zero(low_), label(high_));
    const double ratio = mean(high_) / mean(low_);
    return fmt::format("{}; with {}{} it is {}", text, label(high_), if_several("the worst,"),
                       ratio < kSmallFactor ? percent_text(ratio - 1) + " higher"
                                            : factor_text(ratio) + " as high");
  }

  /// The line that contradicts the means most.
  std::string of_other_best() const {
    const std::size_t best = verdict_.aim == StudyAim::kLess ? low_ : high_;
    double greatest = kLittle;
    std::string text;
    for (const StudyLine& line : d_.lines) {
      for (const std::size_t p : d_.order) {
        if (!line.values[best] || !line.values[p]) continue;
        const double gain = sign() * relative_change(*line.values[best], *line.values[p]);
        if (gain <= greatest) continue;
        greatest = gain;
        text = fmt::format("; but with {} it is {} with {}", name_of(line),
                           verdict_.aim == StudyAim::kNone ? "higher" : "better", label(p));
      }
    }
    return text;
  }

  /// Of two it goes without saying.
  std::string if_several(const std::string& text) const {
    return d_.order.size() > 2 ? ", " + text : "";
  }

  std::string at_zero(std::size_t position) const {
    return mean(position) == 0 ? ", where it is 0" : "";
  }

  const DimensionVerdict& d_;
  const MetricVerdict& verdict_;
  const std::string& metric_;
  std::vector<std::size_t> others_;  ///< other dimensions that have a choice
  std::size_t high_ = 0;
  std::size_t low_ = 0;
};

}  // namespace

std::vector<std::string> dimension_sentences(const MetricVerdict& verdict, std::size_t dimension) {
  return DimensionText(verdict, dimension).sentences();
}

}  // namespace rnicsim
