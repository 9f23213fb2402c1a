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

using Line = std::vector<std::optional<double>>;  ///< a value for each position

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
    for (std::size_t a = 0; a < dimension().axes.size() && numbers_.empty(); ++a)
      numbers_ = numbers_of(a);
    if (numbers_.empty()) return;
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
    std::map<std::vector<std::size_t>, Line> lines;
    for (const StudyCell& cell : cells_) {
      std::vector<std::size_t> others = cell.positions;
      others[index_] = 0;
      Line& line = lines[others];
      line.resize(verdict_.labels.size());
      line[cell.positions[index_]] = cell.mean;
    }
    lines_.reserve(lines.size());
    for (auto& [others, line] : lines) lines_.push_back(std::move(line));
  }

  bool is_complete(const Line& line) const {
    return std::all_of(verdict_.order.begin(), verdict_.order.end(),
                       [&](std::size_t p) { return line[p].has_value(); });
  }

  void find_means() {
    verdict_.means.resize(verdict_.labels.size());
    verdict_.comparable =
        lines_.empty() || std::any_of(lines_.begin(), lines_.end(),
                                      [&](const Line& line) { return is_complete(line); });
    for (const std::size_t p : verdict_.order) {
      std::vector<double> values;
      for (const Line& line : lines_)
        if (line[p] && (!verdict_.comparable || is_complete(line))) values.push_back(*line[p]);
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
      StudyStep step{verdict_.order[i], verdict_.order[i + 1], {}, {}};
      std::vector<std::pair<double, double>> ends;
      for (const Line& line : lines_)
        if (line[step.from] && line[step.to]) ends.emplace_back(*line[step.from], *line[step.to]);
      if (!ends.empty()) {
        const double change = mean_change(ends);
        step.gain = sign() * change;
        if (verdict_.scale == StepScale::kDoubling)
          step.per_doubling = sign() * change_per_doubling(change, along(i + 1) - along(i));
      }
      verdict_.steps.push_back(step);
    }
  }

  void find_enough() {
    std::vector<double> gains;
    for (const StudyStep& step : verdict_.steps) {
      if (!step.gain) return;
      gains.push_back(*judged_gain(verdict_, step));
    }
    const std::optional<std::size_t> enough = enough_of(gains, kWorthwhileGain);
    if (enough) verdict_.enough = verdict_.order[*enough];
  }

  void find_knee() {
    if (!verdict_.comparable) return;
    std::vector<CurvePoint> curve;
    for (std::size_t i = 0; i < verdict_.order.size(); ++i)
      curve.push_back({along(i), sign() * *verdict_.means[verdict_.order[i]]});
    const std::optional<std::size_t> knee = knee_of(curve, kWorthwhileGain);
    if (knee) verdict_.knee = verdict_.order[*knee];
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
  std::vector<Line> lines_;
  DimensionVerdict verdict_;
};

}  // namespace

DimensionVerdict judge_dimension(const StudyPlan& plan, std::size_t dimension, StudyAim aim,
                                 const std::vector<StudyCell>& cells) {
  return DimensionJudge(plan, dimension, aim, cells).judge();
}

}  // namespace rnicsim
