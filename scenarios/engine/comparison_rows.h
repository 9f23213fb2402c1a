// SPDX-License-Identifier: MIT
// The rows of a comparison that no file lays out: what each workload achieved and what limited it;
// what each side's CPU, kernel, DMA and memory had to do for it; or every metric that was asked
// for.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/comparison_spec.h"
#include "scenarios/engine/expectations.h"

namespace rnicsim {

/// Rows of which no run knows anything are among them.
std::vector<ComparisonRowSpec> usual_rows(const std::vector<const JudgedRun*>& runs);

/// A row for each metric of any run that one of the globs matches (`*` stands for any characters).
/// Throws ConfigError for a glob that matches none.
std::vector<ComparisonRowSpec> rows_of_globs(const std::vector<const JudgedRun*>& runs,
                                             const std::vector<std::string>& globs);

}  // namespace rnicsim
