// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_words.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace rnicsim {
namespace {

using UnitScale = std::pair<double, const char*>;

/// In the largest of the scales (ascending) that the value reaches.
template <std::size_t kCount>
std::string in_scale(double value, const UnitScale (&scales)[kCount]) {
  const UnitScale* chosen = scales;
  for (const UnitScale& scale : scales)
    if (std::abs(value) >= scale.first) chosen = &scale;
  return fmt::format("{:.4g} {}", value / chosen->first, chosen->second);
}

constexpr UnitScale kRates[] = {{1, "b/s"}, {1e3, "Kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}};
constexpr UnitScale kTimes[] = {{1, "ps"}, {1e3, "ns"}, {1e6, "us"}, {1e9, "ms"}, {1e12, "s"}};

}  // namespace

std::string percent_text(double part) {
  const double points = std::abs(part) * 100;
  if (points > 0 && points < 0.1) return "under 0.1 %";
  return points < 10 ? fmt::format("{:.2g} %", points) : fmt::format("{:.0f} %", points);
}

std::string factor_text(double ratio) {
  return ratio < 1000 ? fmt::format("{:.3g} times", ratio) : fmt::format("{:.0f} times", ratio);
}

std::string higher_or_lower(double change) {
  if (change >= 1) return factor_text(1 + change) + " as high";
  if (change >= 0) return percent_text(change) + " higher";
  return change > -1 && change < -0.995 ? "over 99 % lower" : percent_text(change) + " lower";
}

std::string amount_text(double value, const std::string& unit) {
  if (unit == "b/s") return in_scale(value, kRates);
  if (unit == "ps") return in_scale(value, kTimes);
  const bool bare = unit.empty() || unit == "count" || unit == "ratio";
  const std::string number = std::abs(value) >= 1000 && std::abs(value) < 1e15
                                 ? fmt::format("{:.0f}", value)
                                 : fmt::format("{:.4g}", value);
  return bare ? number : fmt::format("{} {}", number, unit);
}

}  // namespace rnicsim
