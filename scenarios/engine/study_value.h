// SPDX-License-Identifier: MIT
// What a study compares and interpolates: the numbers that stand in texts, bare or with a unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/json_document.h"

namespace rnicsim {

/// Of a bare number itself, of a quantity its ps, B, b/s, Hz, mm or cycles; nothing of other texts.
std::optional<double> number_of_text(const std::string& text);

/// For people: of a bare number with a fraction six digits, of anything else the text itself.
std::string short_text(const std::string& text);

struct RangeEnds {
  JsonNode from;
  JsonNode to;
};
/// `count` values from one end to the other, both included, at even distances or in even ratios.
/// Quantities and whole numbers are rounded to whole ones; what is then the same stands once. Other
/// numbers are written so that they read back as the same.
/// Throws ConfigError without a path, also for whole ends so large that not all below them are
/// known exactly. REQUIRES: count is at least 2.
std::vector<JsonNode> linear_range(const RangeEnds& ends, std::size_t count);
std::vector<JsonNode> logarithmic_range(const RangeEnds& ends, std::size_t count);
/// How many values make `per_decade` steps of every factor of ten, one at least.
std::size_t count_of_decades(const RangeEnds& ends, double per_decade);

}  // namespace rnicsim
