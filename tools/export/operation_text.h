// SPDX-License-Identifier: MIT
// What a workload does, in words.
#pragma once

#include <string>

#include "scenarios/engine/workload_spec.h"
#include "tools/export/language.h"

namespace rnicsim {

/// "A writes 64 KiB to B".
std::string deed_text(const WorkloadSpec& workload, Language language = Language::kEnglish);
/// What the target hands over and what for: "where it may write: address, length and rkey".
std::string handed_over_text(const WorkloadSpec& workload);
/// What a pattern's messages are, whatever the pattern.
Operation operation_in(const WorkloadSpec& workload);

}  // namespace rnicsim
