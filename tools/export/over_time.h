// SPDX-License-Identifier: MIT
// A run's time series and pauses as the charts of its page: in groups, the signals that rose
// highest first, of what congestion control allows those that were held back most. What stayed zero
// is left out.
//
// Approximates: values have four digits, and pauses of a port and priority that lie close to each
// other are put together where there are very many. Of large networks the last signals of each
// group are left out, and ports that were stopped for the shortest: `--csv` has all of them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/engine/run_result.h"
#include "tools/export/language.h"

namespace rnicsim {

/// interval_ps and end_ps of the run; `groups` of columns (path, description, values) in one unit,
/// `key`ed throughput (of ports), congestion, windows, buses, utilisation, bytes, entries and
/// rates; `pauses`: `ports` and their priorities, those that were stopped longest first, intervals
/// of [begin_ps, end_ps, pauses in it]. `left_out` says how many more there are.
nlohmann::ordered_json over_time(const RunResult& result, Language language);

}  // namespace rnicsim
