// SPDX-License-Identifier: MIT
// What limited a workload, as a sentence in English and Japanese. The simulator wrote the English;
// the Japanese is made of the verdict's fields, never of the English.
#pragma once

#include <string>

#include "scenarios/engine/run_result.h"
#include "tools/export/language.h"

namespace rnicsim {

std::string bottleneck_text(const Bottleneck& bottleneck, Language language);

}  // namespace rnicsim
