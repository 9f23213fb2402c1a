// SPDX-License-Identifier: MIT
// A run for people: title, timeline, what each workload achieved, what the CPUs did, which
// expectations failed. Takes results, runs nothing.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/expectations.h"
#include "tools/export/language.h"
#include "tools/export/text_style.h"

namespace rnicsim {

/// No more than kTerminalColumns wide, ends with a line feed.
std::string terminal_view(const JudgedRun& run, const TerminalStyle& style);

/// One line for each failed expectation, with both values, and each violation that was not
/// expected.
std::vector<std::string> failure_lines(const JudgedRun& run,
                                       Language language = Language::kEnglish);

/// "equals 9.1 us (+- 15 %)": what was expected, in the file's own words.
std::string expected_text(const ExpectationSpec& spec, Language language = Language::kEnglish);

}  // namespace rnicsim
