// SPDX-License-Identifier: MIT
// Values as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

/// Four digits in the unit that reads best: "9.123 us", "64 KiB", "97.41 Gb/s", "12 cycles".
std::string short_text(double value, Unit unit);
/// As many digits as the value has, for values that must be told apart.
std::string exact_text(double value, Unit unit);
std::string short_text(Time value);
std::string short_text(Bytes value);
/// 1, 2 or 7.013 M, for things that are counted.
std::string count_text(double value);

}  // namespace rnicsim
