// SPDX-License-Identifier: MIT
// How result documents spell the units of metrics.
#pragma once

#include <string_view>

#include "model/metrics.h"

namespace rnicsim {

const char* unit_name(Unit unit);  ///< count, B, ps, cycles, b/s, 1/s, ratio
/// kCount for a name that is none.
Unit unit_of_name(std::string_view name);

}  // namespace rnicsim
