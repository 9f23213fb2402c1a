// SPDX-License-Identifier: MIT
// The eight steps of a WRITE as text: what the control plane set up once, then each message's data
// plane with bars over its span (so that the overlap of steps 5 to 8 is seen), then faults with
// their cause.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/expectations.h"
#include "tools/export/text_style.h"

namespace rnicsim {

/// No more than kTerminalColumns wide; empty if there is nothing to show.
std::string timeline_view(const JudgedRun& run, const TerminalStyle& style);

}  // namespace rnicsim
