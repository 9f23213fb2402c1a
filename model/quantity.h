// SPDX-License-Identifier: MIT
// Quantities as people write them: "250 ns", "4 KiB", "100 Gb/s", "1.2 GHz", "3 m", "12 cycles".
//
// Text to the types of model/units and back. Decimal arithmetic is exact (128-bit integers, no
// floating point): a value that is not a whole picosecond, byte, bit per second, hertz, millimetre
// or cycle is refused, and so are signs, missing or unknown units and overflow. What to_text
// prints, parse_quantity reads back to the same value. A rate that is no whole number of bits per
// second (a PCIe lane with its line coding) is written as a fraction: "102400000000/13 b/s".
#pragma once

#include <string>
#include <string_view>

#include "model/units.h"

namespace rnicsim {

/// Reads `text` into `value`. On failure returns false, leaves `value` alone and says why in
/// `error`, in words that follow the quoted text: `has no unit (ps, ns, us, ms, s)`.
bool parse_quantity(std::string_view text, Time& value, std::string& error);
bool parse_quantity(std::string_view text, Bytes& value, std::string& error);
bool parse_quantity(std::string_view text, BitRate& value, std::string& error);
bool parse_quantity(std::string_view text, Frequency& value, std::string& error);
bool parse_quantity(std::string_view text, Length& value, std::string& error);
bool parse_quantity(std::string_view text, Cycles& value, std::string& error);

/// The value in the unit that reads best, exact.
std::string to_text(Time value);
std::string to_text(Bytes value);
std::string to_text(BitRate value);
std::string to_text(Frequency value);
std::string to_text(Length value);
std::string to_text(Cycles value);

/// What a quantity's type is called, how one looks, and a regular expression for all of them.
struct QuantityKind {
  const char* noun;     ///< "a time"
  const char* example;  ///< "250 ns"
  std::string units;    ///< "ps, ns, us, ms, s"
  std::string pattern;  ///< ECMA 262, anchored
};
QuantityKind quantity_kind(Time);
QuantityKind quantity_kind(Bytes);
QuantityKind quantity_kind(BitRate);
QuantityKind quantity_kind(Frequency);
QuantityKind quantity_kind(Length);
QuantityKind quantity_kind(Cycles);

}  // namespace rnicsim
