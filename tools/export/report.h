// SPDX-License-Identifier: MIT
// One run as a page: the swim lanes, zoomable in time; where the time of each message went;
// throughput, queues and pauses over time; summary
// and what limited it; counters; the configuration with its sources.
#pragma once

#include <string>

#include "scenarios/engine/expectations.h"
#include "scenarios/engine/presets.h"
#include "tools/export/labels.h"

namespace rnicsim {

/// What the page draws. `presets`: those of the run's scenario.
std::string report_json(const JudgedRun& run, Language language, PresetSource& presets);
std::string report_html(const JudgedRun& run, Language language, PresetSource& presets);

}  // namespace rnicsim
