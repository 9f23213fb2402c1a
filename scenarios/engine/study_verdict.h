// SPDX-License-Identifier: MIT
// What a study says, in numbers and in sentences: for each metric, where along each dimension more
// stops to help, which dimension matters most, and which points are worth their cost.
//
// Points that differ only in the seed are one cell: its value is their mean, its half width the
// 95 % confidence interval's (Student's t).
// A line is what differs in one dimension alone. If one axis of a dimension has different numbers,
// its positions are put in their order, whatever the file's; a step leads from one to the next,
// past those where nothing has a value (--filter leaves such).
//   gain       of a step: the mean over all lines with both ends of the relative improvement. It is
//              0 from 0 to 0, and infinite from 0 to anything else: more than any threshold.
//              Where only some lines leave 0, it is the improvement of all these lines' sum. The
//              least and the greatest gain of a single line stand beside it.
//   half width of a gain: the 95 % confidence interval's, over the repeats. A repeat has the same
//              seed at both ends and on all lines, so it makes one change of them all, as a part of
//              the mean at the beginning. A gain that is not greater is within the seeds' noise.
//   per doubling   what a doubling would have to gain for that step's gain, if each gained the
//              same: it does not depend on how finely an axis is divided. It needs numbers above 0.
//   enough     the first position past which every step gains less than 5 %: by the gain per
//              doubling where there is one, else by the step's own
//   enough everywhere   the same, if every step of every single line gains less than that
//   knee       the position that lies farthest above the straight line between the curve's ends, if
//              that is a tenth of the curve's height or more; along the axis doublings are equally
//              long, or else steps. The curve holds the means over the lines that are complete.
//   effect     the share of the metric's variance that the dimension's own means explain. If
//              combinations of positions are missing, dimensions go together and share effects:
//              with more than a tenth missing no ranking is told.
//   Pareto     offers that no other beats in metric and cost at once; of equal ones the first. An
//              offer is a setting of those dimensions that change the cost; its metric is the mean
//              over those settings of the others that have a value at every offer.
// If no line is complete, the means are over whatever there is, of which different positions have
// different lines: they are marked as not comparable, and there is no knee.
// Of a dimension without numbers (presets, on and off) only the best position and the effect are
// told; of a metric that is neither good nor bad only means and effects.
// Likely errors: a step much shorter than a doubling makes noise look like gain; numbers that name
// something rather than count it (a generation) are taken for amounts; best, enough and knee are
// those of the means, whatever the seeds' noise; where lines differ much in height, best, knee and
// offers follow the highest.
#pragma once

#include <cmath>
#include <cstddef>
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
  std::optional<double> half_width;           ///< of two runs or more
  std::vector<std::optional<double>> values;  ///< one a repeat
  std::optional<double> cost;
};

/// By what the steps of a dimension are judged.
enum class StepScale : std::uint8_t {
  kDoubling,  ///< its values are numbers above 0: the gain per doubling
  kStep,      ///< numbers, but not all above 0: the gain of the step
  kChoice     ///< no numbers: there are no steps
};

/// What a step does on one line or on several.
struct StepGain {
  double gain = 0;
  std::optional<double> per_doubling;  ///< nothing of a scale of steps
  std::optional<double> half_width;    ///< of the gain; nothing without repeats, or from 0
  std::size_t line = 0;                ///< if it is of one

  /// What the step is judged by.
  double judged() const { return per_doubling.value_or(gain); }
  bool is_noise() const { return half_width && gain != 0 && std::abs(gain) <= *half_width; }
};

/// Between neighbours in a dimension's order.
struct StudyStep {
  std::size_t from;
  std::size_t to;
  std::optional<StepGain> mean;  ///< nothing: no line has both ends
  std::optional<StepGain> least;
  std::optional<StepGain> most;
};

struct StudyLine {
  std::vector<std::size_t> at;                ///< position on each dimension but its own
  std::vector<std::optional<double>> values;  ///< one a position
};

struct DimensionVerdict {
  std::string name;
  std::string along;  ///< the axis whose numbers order it; "" if none does
  std::vector<std::string> labels;
  StepScale scale = StepScale::kChoice;
  std::vector<std::size_t> order;            ///< positions that have values, the least first
  std::vector<std::optional<double>> means;  ///< one a position
  bool comparable = true;                    ///< the means are all of the same lines
  std::vector<StudyLine> lines;
  std::vector<StudyStep> steps;
  std::optional<std::size_t> best;
  std::optional<std::size_t> enough;             ///< nothing: even the last step gains more
  std::optional<std::size_t> enough_everywhere;  ///< never before `enough`
  std::optional<std::size_t> knee;
  double effect = 0;
};

/// What can be had for a cost.
struct StudyOffer {
  std::vector<std::size_t>
      at;  ///< positions on the dimensions that change the cost, in their order
  double mean = 0;
  double cost = 0;
};

struct MetricVerdict {
  std::string metric;
  std::string unit;
  StudyAim aim = StudyAim::kMore;
  std::size_t runs = 0;
  std::size_t without_value = 0;  ///< of the runs
  std::vector<StudyCell> cells;
  std::vector<DimensionVerdict> dimensions;
  std::vector<std::size_t> ranking;  ///< of dimensions, the greatest effect first
  std::size_t crossed = 0;           ///< cells there would be if no combination were missing
  std::vector<std::size_t> paid;     ///< dimensions that change the cost
  std::size_t settings = 0;          ///< of the other dimensions, that the offers are means over
  std::vector<StudyOffer> offers;    ///< none: no setting of the others has a value at all of them
  std::vector<std::size_t> pareto;   ///< indices of offers, the cheapest first
  std::vector<std::string> sentences;
};

/// One a metric.
std::vector<MetricVerdict> verdict_of(const StudyResult& result);

}  // namespace rnicsim
