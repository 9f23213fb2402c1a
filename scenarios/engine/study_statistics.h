// SPDX-License-Identifier: MIT
// The arithmetic of a verdict, of bare numbers.
#pragma once

#include <optional>
#include <vector>

namespace rnicsim {

/// REQUIRES: there are some.
double mean_of(const std::vector<double>& values);
/// Half the width of the 95 % confidence interval of their mean; nothing of fewer than two.
std::optional<double> half_width_of(const std::vector<double>& values);
/// Of a curve for which more is better, the position that lies farthest above the straight line
/// between its ends. Nothing if it does not rise by `least` of its first value, or lies nowhere a
/// tenth of its height above that line.
std::optional<std::size_t> knee_of(const std::vector<double>& curve, double least);
/// The first position past which all gains are less than `least`; nothing if the last is not.
std::optional<std::size_t> enough_of(const std::vector<double>& gains, double least);

}  // namespace rnicsim
