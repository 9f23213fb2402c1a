// SPDX-License-Identifier: MIT
// The tables that perftest prints, from the metrics of a run: the same columns with the same
// meaning, so that they can be laid beside those of real machines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

/// Head and a line for each size that is done; empty if none is. perftest's head of latencies, 127
/// columns wide, stands on two lines.
std::vector<std::string> perftest_table(const WorkloadSpec& workload,
                                        const std::map<std::string, Metric>& metrics);

}  // namespace rnicsim
