// SPDX-License-Identifier: MIT
// How the sentences of a study's verdict spell numbers.
#pragma once

#include <string>

namespace rnicsim {

std::string percent_text(double part);  ///< without its sign
std::string factor_text(double ratio);  ///< "3 times"
/// "50 % lower"; a factor where a percentage would be long. REQUIRES: the change is finite.
std::string higher_or_lower(double change);
/// Four digits, in a handy multiple of the unit.
std::string amount_text(double value, const std::string& unit);

}  // namespace rnicsim
