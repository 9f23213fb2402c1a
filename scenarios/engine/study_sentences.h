// SPDX-License-Identifier: MIT
// A verdict in words: one sentence a dimension, then what matters most, what is worth its cost, and
// how sure it is.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/study_verdict.h"

namespace rnicsim {

/// `verdict` lacks nothing but the sentences.
std::vector<std::string> sentences_of(const MetricVerdict& verdict, const StudyPlan& plan);

}  // namespace rnicsim
