// SPDX-License-Identifier: MIT
#include "scenarios/engine/unit_name.h"

namespace rnicsim {
namespace {

struct UnitName {
  Unit unit;
  const char* name;
};
constexpr UnitName kNames[] = {{Unit::kCount, "count"},       {Unit::kBytes, "B"},
                               {Unit::kPicoseconds, "ps"},    {Unit::kCycles, "cycles"},
                               {Unit::kBitsPerSecond, "b/s"}, {Unit::kPerSecond, "1/s"},
                               {Unit::kRatio, "ratio"}};

}  // namespace

const char* unit_name(Unit unit) {
  for (const UnitName& known : kNames)
    if (known.unit == unit) return known.name;
  return kNames[0].name;
}

Unit unit_of_name(std::string_view name) {
  for (const UnitName& known : kNames)
    if (known.name == name) return known.unit;
  return Unit::kCount;
}

}  // namespace rnicsim
