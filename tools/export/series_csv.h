// SPDX-License-Identifier: MIT
// A run's time series as CSV files, for whoever draws his own curves.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"

namespace rnicsim {

/// A row an interval: `end_ps`, when it ends, and a column a signal, "PATH [UNIT]": of a level how
/// much there was, of a total by how much a second it rose.
std::string series_csv(const TimeSeries& series);
/// A row a column of that: path, unit, kind, limit (empty: none), description.
std::string signals_csv(const TimeSeries& series);
/// A row a pause: port, priority, begin_ps, end_ps (empty: it lasted to the end of the run).
std::string pauses_csv(const std::vector<PauseRecord>& pauses);

/// A port and priority from when it was stopped until it went on; never(): to the end of the run.
struct PauseInterval {
  std::string where;
  std::uint8_t priority = 0;
  Time begin;
  Time end = Time::never();
};
/// In order of begin.
std::vector<PauseInterval> pause_intervals(const std::vector<PauseRecord>& pauses);

}  // namespace rnicsim
