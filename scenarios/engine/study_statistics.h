// SPDX-License-Identifier: MIT
// The arithmetic of a verdict, of bare numbers.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace rnicsim {

/// REQUIRES: there are some.
double mean_of(const std::vector<double>& values);
/// Half the width of the 95 % confidence interval of their mean; nothing of fewer than two.
std::optional<double> half_width_of(const std::vector<double>& values);

/// As a part of what it was: 0.5 for half as much again, -1 for a fall to 0. From 0 to 0 it is 0,
/// from 0 to anything else infinite.
double relative_change(double from, double to);
/// The mean of the pairs' changes; where one of them leaves 0, the change of the pairs' sum
/// instead, which is infinite only if all were at 0. REQUIRES: there are some.
double mean_change(const std::vector<std::pair<double, double>>& pairs);
/// The change which, made once a doubling, adds up to that one over so many: for a power law the
/// same whatever the number of doublings. REQUIRES: doublings is more than 0.
double change_per_doubling(double change, double doublings);

/// Where a curve is: at what distance along its axis, how high.
struct CurvePoint {
  double along;
  double height;
};
/// Of a curve for which more is better, the point that lies farthest above the straight line
/// between its ends. Nothing if it does not rise by `least` of its first value, or lies nowhere a
/// tenth of its height above that line.
std::optional<std::size_t> knee_of(const std::vector<CurvePoint>& curve, double least);
/// The first position past which all gains are less than `least`; nothing if the last is not.
std::optional<std::size_t> enough_of(const std::vector<double>& gains, double least);

}  // namespace rnicsim
