// SPDX-License-Identifier: MIT
// What metrics say of many times: the extremes, the mean and percentiles.
#pragma once

#include <vector>

#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

/// Under `scope` min, mean, p50, p99, p999, max; nothing of no samples. Percentiles are of the
/// nearest rank: a value that occurred. Sorts the samples.
void report_distribution(const MetricScope& scope, std::vector<Time>& samples, const char* what);

}  // namespace rnicsim
