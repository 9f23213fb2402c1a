// SPDX-License-Identifier: MIT
// What a study says, in numbers and in sentences: for each metric, where along each dimension more
// stops to help, which dimension matters most, and which points are worth their cost.
//
// Points that differ only in the seed are one cell: its value is their mean, its half width the
// 95 % confidence interval's (Student's t).
// A line is what differs in one dimension alone. A step's gain is the mean over all lines of the
// relative improvement from one position to the next; the curve holds the means over the lines that
// are complete.
//   enough     the first position past which every step gains less than 5 %
//   knee       the position that lies farthest above the straight line between the curve's ends
//              (positions at equal distances), if that is a tenth of the curve's height or more
//   effect     the share of the metric's variance that the dimension's own means explain
//   Pareto     cells that no other beats in metric and cost at once
// Of a dimension that is no growing row of numbers, only the best position and the effect are told.
#pragma once

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

struct DimensionVerdict {
  std::string name;
  std::vector<std::string> labels;
  bool grows = false;  ///< its labels are numbers, each more than the one before
  std::vector<std::optional<double>> means;
  std::vector<std::optional<double>> gains;  ///< of each step: one fewer
  std::optional<std::size_t> best;
  std::optional<std::size_t> enough;  ///< nothing: even the last step gains more
  std::optional<std::size_t> knee;
  double effect = 0;
};

struct MetricVerdict {
  std::string metric;
  std::vector<StudyCell> cells;
  std::vector<DimensionVerdict> dimensions;
  std::vector<std::size_t> ranking;  ///< of dimensions, the greatest effect first
  std::vector<std::size_t> pareto;   ///< indices of cells, the cheapest first
  std::vector<std::string> sentences;
};

/// One a metric.
std::vector<MetricVerdict> verdict_of(const StudyResult& result);

}  // namespace rnicsim
