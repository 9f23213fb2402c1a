// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_statistics.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace rnicsim {
namespace {

constexpr double kLeastBend = 0.1;

/// Student's t for a two-sided 95 %, by degrees of freedom from 1.
double student_t(std::size_t freedom) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  constexpr std::size_t kLast = sizeof kTable / sizeof kTable[0];
  if (freedom <= kLast) return kTable[freedom - 1];
  return 1.96 + 2.46 / static_cast<double>(freedom);  // within 0.001 of the tables from there on
}

}  // namespace

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> half_width_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const std::size_t freedom = values.size() - 1;
  const double deviation = std::sqrt(squares / static_cast<double>(freedom));
  return student_t(freedom) * deviation / std::sqrt(static_cast<double>(values.size()));
}

double relative_change(double from, double to) {
  if (from != 0) return (to - from) / std::abs(from);
  return to == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), to);
}

double mean_change(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<double> changes;
  double from_all = 0;
  double to_all = 0;
  bool leaves_zero = false;
  for (const auto& [from, to] : pairs) {
    changes.push_back(relative_change(from, to));
    leaves_zero = leaves_zero || (from == 0 && to != 0);
    from_all += from;
    to_all += to;
  }
  return leaves_zero ? relative_change(from_all, to_all) : mean_of(changes);
}

double change_per_doubling(double change, double doublings) {
  if (std::isinf(change)) return change;
  const double ratio = 1 + change;
  return ratio < 0 ? change / doublings : std::pow(ratio, 1 / doublings) - 1;
}

std::optional<std::size_t> knee_of(const std::vector<CurvePoint>& curve, double least) {
  if (curve.size() < 3) return std::nullopt;
  const CurvePoint& first = curve.front();
  const CurvePoint& last = curve.back();
  const double rise = last.height - first.height;
  if (rise <= 0 || rise < least * std::abs(first.height)) return std::nullopt;
  std::optional<std::size_t> knee;
  double farthest = kLeastBend;
  for (std::size_t i = 1; i + 1 < curve.size(); ++i) {
    const double line = (curve[i].along - first.along) / (last.along - first.along);
    const double above = (curve[i].height - first.height) / rise - line;
    if (above < farthest || (knee && above == farthest)) continue;
    farthest = above;
    knee = i;
  }
  return knee;
}

std::optional<std::size_t> enough_of(const std::vector<double>& gains, double least) {
  std::size_t position = gains.size();
  while (position > 0 && gains[position - 1] < least) --position;
  if (position == gains.size()) return std::nullopt;
  return position;
}

}  // namespace rnicsim
