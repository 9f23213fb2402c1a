// SPDX-License-Identifier: MIT
// A run's time series and pauses as the charts of its page: in groups, each with the signals that
// rose highest first. What stayed zero is left out, and of large networks all but kMost of a group.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/engine/run_result.h"

namespace rnicsim {

/// interval_ps and end_ps of the run; `groups` of columns (path, description, limit, values) in one
/// unit, `key`ed throughput (of ports), congestion, buses, utilisation, bytes, entries and rates;
/// `pauses`: by port and priority, those that were stopped longest first, intervals of [begin_ps,
/// end_ps]. `left_out` says how many more there are.
nlohmann::ordered_json over_time(const RunResult& result);

}  // namespace rnicsim
