// SPDX-License-Identifier: MIT
// A run's time series and pauses as the charts of its page: in groups, each with the signals that
// rose highest first. What stayed zero is left out, and of large networks all but kMost of a group.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/engine/run_result.h"

namespace rnicsim {

/// {"interval_ps", "end_ps", "groups": [{"key", "unit", "left_out", "columns": [{"path", "values",
/// "limit", "description"}]}], "pauses": [{"where", "intervals": [[begin_ps, end_ps]],
/// "left_out"}]} Keys of groups: throughput, utilisation, bytes, entries, rates. Pauses: those who
/// were paused longest first.
nlohmann::ordered_json over_time(const RunResult& result);

}  // namespace rnicsim
