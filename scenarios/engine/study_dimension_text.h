// SPDX-License-Identifier: MIT
// Puts into words what more of one dimension of a study does to one metric. What is said of the
// means over several lines is called an average, with the range of the lines; what is said without
// that word is true of every line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/engine/study_verdict.h"

namespace rnicsim {

/// REQUIRES: the dimension has two positions in use or more.
std::vector<std::string> dimension_sentences(const MetricVerdict& verdict, std::size_t dimension);

}  // namespace rnicsim
