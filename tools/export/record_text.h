// SPDX-License-Identifier: MIT
// What a record of the timeline says, in English and Japanese. The simulator wrote the English;
// the Japanese is made of the record's step, part and numbers, never of the English.
#pragma once

#include <string>

#include "scenarios/engine/run_result.h"
#include "tools/export/language.h"

namespace rnicsim {

/// One line. English where a record has no Japanese.
std::string record_text(const TimelineRecord& record, Language language);

}  // namespace rnicsim
