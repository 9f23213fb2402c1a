// SPDX-License-Identifier: MIT
// The leaves of a configuration: which types a field may have, and what limits its value.
//
// ScalarRef points at a member of a configuration struct, whatever its type; ScalarValue holds one.
// Limits are what a block writes behind a field: range(1, 4096), range(1, 64).power_of_two(),
// one_of(256_B, 512_B).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/units.h"

namespace rnicsim {

class JsonNode;

using ScalarRef =
    std::variant<bool*, std::uint8_t*, std::uint16_t*, std::uint32_t*, std::uint64_t*, double*,
                 std::string*, Time*, Bytes*, BitRate*, Frequency*, Length*, Cycles*>;
using ScalarValue =
    std::variant<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, double,
                 std::string, Time, Bytes, BitRate, Frequency, Length, Cycles>;

/// Limits with the type erased to that of the field.
struct ScalarLimits {
  std::vector<ScalarValue> bounds;   ///< empty, or smallest and largest allowed
  std::vector<ScalarValue> allowed;  ///< empty, or all that is allowed
  bool power_of_two = false;         ///< of an integer or a size
  bool identifier = false;           ///< of a string: a letter, then letters, digits, _ and -
};

template <class T>
struct Limits {
  std::vector<T> bounds;
  std::vector<T> allowed;
  bool must_be_power_of_two = false;

  Limits power_of_two() const {
    Limits copy = *this;
    copy.must_be_power_of_two = true;
    return copy;
  }
};

/// From `min` to `max`, both included.
template <class A, class B>
auto range(A min, B max) {
  using T = std::common_type_t<A, B>;
  Limits<T> limits;
  limits.bounds = {static_cast<T>(min), static_cast<T>(max)};
  return limits;
}

template <class T, class... More>
Limits<T> one_of(T first, More... more) {
  Limits<T> limits;
  limits.allowed = {first, static_cast<T>(more)...};
  return limits;
}

/// `limits` for a field of type `Field`: an int literal limits an integer of any width.
template <class Field, class T>
ScalarLimits limits_for(const Limits<T>& limits) {
  static_assert(
      std::is_same_v<Field, T> || (std::is_arithmetic_v<Field> && std::is_arithmetic_v<T>),
      "limits have another type than the field");
  ScalarLimits erased;
  for (const T& bound : limits.bounds) erased.bounds.emplace_back(static_cast<Field>(bound));
  for (const T& value : limits.allowed) erased.allowed.emplace_back(static_cast<Field>(value));
  erased.power_of_two = limits.must_be_power_of_two;
  return erased;
}

/// "1 Mb/s to 1.6 Tb/s", "a power of two from 1 to 64", "256 B or 512 B"; empty if unlimited.
std::string limits_text(const ScalarLimits& limits);

/// Reads `node` into `target`; throws ConfigError for a wrong type, unit or value.
void read_scalar(const JsonNode& node, const std::string& path, const ScalarLimits& limits,
                 ScalarRef target);

/// As a scenario file would write it: JsonNode of a number, a boolean or a string.
JsonNode scalar_to_json(ScalarRef value);

/// Whether its text is a number and a unit.
bool is_quantity(ScalarRef value);

/// JSON Schema of the scalar's type within its limits, into an object node.
void scalar_schema(ScalarRef type, const ScalarLimits& limits, JsonNode& schema);

}  // namespace rnicsim
