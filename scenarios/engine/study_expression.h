// SPDX-License-Identifier: MIT
// The small language of a study's cost and of --filter: numbers, texts in single or double quotes,
// names, + - * /, parentheses, comparisons (= != < <= > >=), `and`, `or`.
//
//   hosts.B.nic.translation_cache.entries * 16 + hosts.B.nic.contexts * 256
//   entries >= 64 and page != "4 KiB"
//
// A name is a path: words joined by dots, of which each but the first may be `*`. A quantity counts
// as its base unit (B, ps, b/s, Hz, mm, cycles); its text may stand in quotes, or without them if
// it has no blank and its unit no slash: 4KiB.
#pragma once

#include <functional>
#include <string>

namespace rnicsim {

/// The text behind a name. Throws ConfigError if there is none.
using NameLookup = std::function<std::string(const std::string& name)>;

/// Throw ConfigError, without a place, for what cannot be read or has no such value.
double number_of_expression(const std::string& expression, const NameLookup& lookup);
/// `shown`: the same as people see it, perhaps with fewer digits; a number is equal to either.
bool truth_of_expression(const std::string& expression, const NameLookup& lookup,
                         const NameLookup& shown);

}  // namespace rnicsim
