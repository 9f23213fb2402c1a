// SPDX-License-Identifier: MIT
// What a study's verdict weighs against its cost: the offers of scenarios/engine/study_verdict.
#pragma once

#include "scenarios/engine/study_verdict.h"

namespace rnicsim {

/// Fills in `paid` and `offers` from cells that have a cost. REQUIRES: its dimensions are judged.
void find_offers(MetricVerdict& verdict);

}  // namespace rnicsim
