// SPDX-License-Identifier: MIT
// Judges one dimension of a study for one metric: the part of scenarios/engine/study_verdict, which
// says what its words mean, that looks along an axis.
#pragma once

#include <cstddef>
#include <vector>

#include "scenarios/engine/study_verdict.h"

namespace rnicsim {

DimensionVerdict judge_dimension(const StudyPlan& plan, std::size_t dimension, StudyAim aim,
                                 const std::vector<StudyCell>& cells);

}  // namespace rnicsim
