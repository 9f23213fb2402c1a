// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_dimension.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "scenarios/engine/study_statistics.h"
#include "scenarios/engine/study_value.h"

namespace rnicsim {
namespace {

/// What stands at the two ends of a step on one line.
struct StepEnds {
  std::size_t line;
  const StudyCell* from;
  const StudyCell* to;
};

/// Of each repeat that has both ends on every line one change: as a part of the mean at the
/// beginning, so that their mean is the change of the means.
std::optional<double> change_half_width(const std::vector<StepEnds>& ends) {
  const std::size_t repeats = ends.front().from->values.size();
  bool leaves_zero = false;
  double from_all = 0;
  for (const StepEnds& end : ends) {
    leaves_zero = leaves_zero || (end.from->mean == 0 && end.to->mean != 0);
    from_all += end.from->mean;
  }
  if (leaves_zero && from_all == 0) return std::nullopt;
  std::vector<double> changes;
  for (std::size_t r = 0; r < repeats; ++r) {
    double sum = 0;
    bool complete = true;
    for (const StepEnds& end : ends) {
      complete = complete && end.from->values[r] && end.to->values[r];
      if (!complete) break;
      const double difference = *end.to->values[r] - *end.from->values[r];
      const double base =
          leaves_zero ? from_all : end.from->mean * static_cast<double>(ends.size());
      if (difference != 0 && base == 0) return std::nullopt;
      if (difference != 0) sum += difference / std::abs(base);
    }
    if (complete) changes.push_back(sum);
  }
  return half_width_of(changes);
}

class DimensionJudge {
 public:
  DimensionJudge(const StudyPlan& plan, std::size_t index, StudyAim aim,
                 const std::vector<StudyCell>& cells)
      : plan_(plan), index_(index), aim_(aim), cells_(cells) {
    verdict_.name = dimension().name;
    for (std::size_t p = 0; p < dimension().positions.size(); ++p)
      verdict_.labels.push_back(plan.position_label(index, p));
  }

  DimensionVerdict judge() {
    put_in_order();
    collect_lines();
    find_means();
    verdict_.effect = effect();
    if (aim_ == StudyAim::kNone) return std::move(verdict_);
    find_best();
    if (verdict_.scale == StepScale::kChoice) return std::move(verdict_);
    find_steps();
    find_enough();
    find_knee();
    return std::move(verdict_);
  }

 private:
  const StudyDimension& dimension() const { return plan_.dimensions()[index_]; }
  double sign() const { return aim_ == StudyAim::kLess ? -1 : 1; }

  void put_in_order() {
    std::set<std::size_t> used;
    for (const StudyCell& cell : cells_) used.insert(cell.positions[index_]);
    verdict_.order.assign(used.begin(), used.end());
    std::size_t a = 0;
    while (a < dimension().axes.size() && numbers_.empty()) numbers_ = numbers_of(a++);
    if (numbers_.empty()) return;
    verdict_.along = plan_.axes()[dimension().axes[a - 1]].name;
    const auto less = [&](std::size_t p, std::size_t q) { return numbers_[p] < numbers_[q]; };
    std::sort(verdict_.order.begin(), verdict_.order.end(), less);
    const bool doubles = numbers_[verdict_.order.front()] > 0;
    verdict_.scale = doubles ? StepScale::kDoubling : StepScale::kStep;
  }

  /// Of the positions in use; nothing unless all of them have one, and no two the same.
  std::map<std::size_t, double> numbers_of(std::size_t a) const {
    const StudyAxis& axis = plan_.axes()[dimension().axes[a]];
    std::map<std::size_t, double> numbers;
    std::set<double> different;
    for (const std::size_t p : verdict_.order) {
      const std::optional<double> number = number_of_text(axis.labels[dimension().positions[p][a]]);
      if (!number || !different.insert(*number).second) return {};
      numbers[p] = *number;
    }
    return numbers;
  }

  void collect_lines() {
    std::map<std::vector<std::size_t>, std::vector<const StudyCell*>> lines;
    for (const StudyCell& cell : cells_) {
      std::vector<std::size_t> others = cell.positions;
      others[index_] = 0;
      std::vector<const StudyCell*>& line = lines[others];
      line.resize(verdict_.labels.size());
      line[cell.positions[index_]] = &cell;
    }
    for (auto& [others, line] : lines) {
      StudyLine& made = verdict_.lines.emplace_back();
      made.at = others;
      made.values.resize(line.size());
      for (std::size_t p = 0; p < line.size(); ++p)
        if (line[p] != nullptr) made.values[p] = line[p]->mean;
      cells_of_.push_back(std::move(line));
    }
  }

  bool is_complete(const StudyLine& line) const {
    return std::all_of(verdict_.order.begin(), verdict_.order.end(),
                       [&](std::size_t p) { return line.values[p].has_value(); });
  }

  void find_means() {
    verdict_.means.resize(verdict_.labels.size());
    verdict_.comparable = verdict_.lines.empty() ||
                          std::any_of(verdict_.lines.begin(), verdict_.lines.end(),
                                      [&](const StudyLine& line) { return is_complete(line); });
    for (const std::size_t p : verdict_.order) {
      std::vector<double> values;
      for (const StudyLine& line : verdict_.lines)
        if (line.values[p] && (!verdict_.comparable || is_complete(line)))
          values.push_back(*line.values[p]);
      verdict_.means[p] = mean_of(values);
    }
  }

  double effect() const {
    if (cells_.empty()) return 0;
    std::vector<double> all;
    std::map<std::size_t, std::vector<double>> at;
    for (const StudyCell& cell : cells_) {
      all.push_back(cell.mean);
      at[cell.positions[index_]].push_back(cell.mean);
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

  void find_best() {
    for (const std::size_t p : verdict_.order) {
      const double good = sign() * *verdict_.means[p];
      if (!verdict_.best || good > sign() * *verdict_.means[*verdict_.best]) verdict_.best = p;
    }
  }

  void find_steps() {
    for (std::size_t i = 0; i + 1 < verdict_.order.size(); ++i) {
      StudyStep step{verdict_.order[i], verdict_.order[i + 1], {}, {}, {}};
      const double doublings = along(i + 1) - along(i);
      std::vector<StepEnds> ends;
      for (std::size_t l = 0; l < cells_of_.size(); ++l)
        if (cells_of_[l][step.from] != nullptr && cells_of_[l][step.to] != nullptr)
          ends.push_back({l, cells_of_[l][step.from], cells_of_[l][step.to]});
      if (!ends.empty()) step.mean = gain_over(ends, doublings);
      for (const StepEnds& end : ends) {
        const StepGain gain = gain_over({end}, doublings);
        if (!step.least || gain.gain < step.least->gain) step.least = gain;
        if (!step.most || gain.gain > step.most->gain) step.most = gain;
      }
      verdict_.steps.push_back(step);
    }
  }

  StepGain gain_over(const std::vector<StepEnds>& ends, double doublings) const {
    std::vector<std::pair<double, double>> pairs;
    pairs.reserve(ends.size());
    for (const StepEnds& end : ends) pairs.emplace_back(end.from->mean, end.to->mean);
    const double change = mean_change(pairs);
    StepGain made;
    made.line = ends.front().line;
    made.gain = sign() * change;
    if (verdict_.scale == StepScale::kDoubling)
      made.per_doubling = sign() * change_per_doubling(change, doublings);
    made.half_width = change_half_width(ends);
    return made;
  }

  void find_enough() {
    std::vector<double> gains;
    std::vector<double> greatest;
    for (const StudyStep& step : verdict_.steps) {
      if (!step.mean) return;
      gains.push_back(step.mean->judged());
      greatest.push_back(std::max(step.mean->judged(), step.most->judged()));
    }
    verdict_.enough = place_of(enough_of(gains, kWorthwhileGain));
    verdict_.enough_everywhere = place_of(enough_of(greatest, kWorthwhileGain));
  }

  std::optional<std::size_t> place_of(const std::optional<std::size_t>& place) const {
    return place ? std::optional(verdict_.order[*place]) : std::nullopt;
  }

  void find_knee() {
    if (!verdict_.comparable) return;
    std::vector<CurvePoint> curve;
    for (std::size_t i = 0; i < verdict_.order.size(); ++i)
      curve.push_back({along(i), sign() * *verdict_.means[verdict_.order[i]]});
    verdict_.knee = place_of(knee_of(curve, kWorthwhileGain));
  }

  /// In doublings, or in steps.
  double along(std::size_t place) const {
    return verdict_.scale == StepScale::kDoubling ? std::log2(numbers_.at(verdict_.order[place]))
                                                  : static_cast<double>(place);
  }

  const StudyPlan& plan_;
  std::size_t index_;
  StudyAim aim_;
  const std::vector<StudyCell>& cells_;
  std::map<std::size_t, double> numbers_;  ///< of the positions in use, if they have an order
  std::vector<std::vector<const StudyCell*>> cells_of_;  ///< of each line, by position
  DimensionVerdict verdict_;
};

}  // namespace

DimensionVerdict judge_dimension(const StudyPlan& plan, std::size_t dimension, StudyAim aim,
                                 const std::vector<StudyCell>& cells) {
  return DimensionJudge(plan, dimension, aim, cells).judge();
}

}  // namespace rnicsim
