// SPDX-License-Identifier: MIT
// A run as a trace for ui.perfetto.dev (the JSON of Chrome's trace viewer): a process for each
// host and for the wire, a track for each block, a slice for each record of the timeline, and
// arrows that link the slices of one message. What of a block overlaps stands on further tracks of
// it. Ports that were stopped by pauses are counted over time, if the run kept its pauses.
#pragma once

#include <string>

#include "scenarios/engine/expectations.h"

namespace rnicsim {

std::string perfetto_trace(const JudgedRun& run);

}  // namespace rnicsim
