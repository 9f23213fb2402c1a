// SPDX-License-Identifier: MIT
#include "scenarios/engine/distribution.h"

#include <algorithm>

namespace rnicsim {

void report_distribution(const MetricScope& scope, std::vector<Time>& samples, const char* what) {
  if (samples.empty()) return;
  std::sort(samples.begin(), samples.end());
  const auto rank = [&](std::uint64_t per_mille) {
    return samples[std::max<std::uint64_t>(divide_up(samples.size() * per_mille, 1000), 1) - 1];
  };
  Time sum;
  for (const Time sample : samples) sum += sample;
  scope.time("min", samples.front(), what);
  scope.time("mean", sum / static_cast<std::int64_t>(samples.size()), what);
  scope.time("p50", rank(500), what);
  scope.time("p99", rank(990), what);
  scope.time("p999", rank(999), what);
  scope.time("max", samples.back(), what);
}

}  // namespace rnicsim
