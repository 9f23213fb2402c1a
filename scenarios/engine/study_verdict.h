// SPDX-License-Identifier: MIT
// What a study says, in numbers and in sentences: for each metric, where along each dimension more
// stops to help, which dimension matters most, and which points are worth their cost.
//
// Points that differ only in the seed are one cell: its value is their mean, its half width the
// 95 % confidence interval's (Student's t).
// A line is what differs in one dimension alone. If one axis of a dimension has different numbers,
// its positions are put in their order, whatever the file's; a step leads from one to the next,
// past those where nothing has a value (--filter leaves such).
//   gain       of a step: the mean over all lines with both ends of the relative improvement. From
//   0
//              to 0 it is 0; from 0 to anything else infinite, and so more than any threshold.
//              Where only some lines leave 0, it is the improvement of all these lines' sum.
//   per doubling   what a doubling would have to gain for that step's gain, if each gained the
//   same:
//              it does not depend on how finely an axis is divided. It needs numbers above 0.
//   enough     the first position past which every step gains less than 5 %: by the gain per
//              doubling where there is one, else by the step's own
//   knee       the position that lies farthest above the straight line between the curve's ends, if
//              that is a tenth of the curve's height or more; along the axis doublings are equally
//              long, or else steps. The curve holds the means over the lines that are complete.
//   effect     the share of the metric's variance that the dimension's own means explain
//   Pareto     cells that no other beats in metric and cost at once; of equal ones the first
// If no line is complete, the means are over whatever there is, of which different positions have
// different lines: they are marked as not comparable, and there is no knee.
// Of a dimension without numbers (presets, on and off) only the best position and the effect are
// told; of a metric that is neither good nor bad only means and effects.
// Likely errors: a step much shorter than a doubling makes noise look like gain; numbers that name
// something rather than count it (a generation) are taken for amounts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/study_result.h"

namespace rnicsim {

/// Less than that a step is not worth more hardware.
constexpr double kWorthwhileGain = 0.05;

struct StudyCell {
  std::vector<std::size_t> positions;
  std::size_t runs = 0;
  double mean = 0;
  std::optional<double> half_width;  ///< of two runs or more
  std::optional<double> cost;
};

/// By what the steps of a dimension are judged.
enum class StepScale : std::uint8_t {
  kDoubling,  ///< its values are numbers above 0: the gain per doubling
  kStep,      ///< numbers, but not all above 0: the gain of the step
  kChoice     ///< no numbers: there are no steps
};

/// Between neighbours in a dimension's order.
struct StudyStep {
  std::size_t from;
  std::size_t to;
  std::optional<double> gain;          ///< nothing: no line has both ends
  std::optional<double> per_doubling;  ///< nothing of a scale of steps
};

struct DimensionVerdict {
  std::string name;
  std::vector<std::string> labels;
  StepScale scale = StepScale::kChoice;
  std::vector<std::size_t> order;            ///< positions that have values, the least first
  std::vector<std::optional<double>> means;  ///< one a position
  bool comparable = true;                    ///< the means are all of the same lines
  std::vector<StudyStep> steps;
  std::optional<std::size_t> best;
  std::optional<std::size_t> enough;  ///< nothing: even the last step gains more
  std::optional<std::size_t> knee;
  double effect = 0;
};

/// What a step is judged by.
std::optional<double> judged_gain(const DimensionVerdict& dimension, const StudyStep& step);

struct MetricVerdict {
  std::string metric;
  StudyAim aim = StudyAim::kMore;
  std::size_t runs = 0;
  std::size_t without_value = 0;  ///< of the runs
  std::vector<StudyCell> cells;
  std::vector<DimensionVerdict> dimensions;
  std::vector<std::size_t> ranking;  ///< of dimensions, the greatest effect first
  std::vector<std::size_t> pareto;   ///< indices of cells, the cheapest first
  std::vector<std::string> sentences;
};

/// One a metric.
std::vector<MetricVerdict> verdict_of(const StudyResult& result);

}  // namespace rnicsim
