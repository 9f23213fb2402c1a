// SPDX-License-Identifier: MIT
#include "model/quantity.h"

#include <cstddef>
#include <limits>

namespace rnicsim {
namespace {

constexpr std::uint64_t kKilo = 1000;
constexpr std::uint64_t kMega = 1000 * kKilo;
constexpr std::uint64_t kGiga = 1000 * kMega;
constexpr std::uint64_t kTera = 1000 * kGiga;

struct Unit {
  const char* name;
  std::uint64_t size;  ///< in the base unit of the kind
};

/// One kind of quantity: the units, from small to large, and the limits of its type.
struct Kind {
  const char* noun;
  const char* example;
  const char* base;  ///< what a value must be a whole number of
  const Unit* units;
  std::size_t count;
  std::uint64_t max;
};

constexpr Unit kTimeUnits[] = {
    {"ps", 1}, {"ns", kKilo}, {"us", kMega}, {"ms", kGiga}, {"s", kTera}};
constexpr Unit kBytesUnits[] = {
    {"B", 1},         {"kB", kKilo},    {"KiB", 1 << 10},
    {"MB", kMega},    {"MiB", 1 << 20}, {"GB", kGiga},
    {"GiB", 1 << 30}, {"TB", kTera},    {"TiB", std::uint64_t{1} << 40}};
constexpr Unit kBitRateUnits[] = {
    {"b/s", 1},           {"kb/s", kKilo},     {"Mb/s", kMega},       {"Gb/s", kGiga},
    {"Tb/s", kTera},      {"B/s", 8},          {"kB/s", 8 * kKilo},   {"MB/s", 8 * kMega},
    {"GB/s", 8 * kGiga},  {"TB/s", 8 * kTera}, {"KiB/s", 8ULL << 10}, {"MiB/s", 8ULL << 20},
    {"GiB/s", 8ULL << 30}};
constexpr std::size_t kBitUnits = 5;  ///< rates print in bits: the first five of the table
constexpr Unit kFrequencyUnits[] = {{"Hz", 1}, {"kHz", kKilo}, {"MHz", kMega}, {"GHz", kGiga}};
constexpr Unit kLengthUnits[] = {{"mm", 1}, {"cm", 10}, {"m", kKilo}, {"km", kMega}};
constexpr Unit kCyclesUnits[] = {{"cycle", 1}, {"cycles", 1}};

constexpr auto kMaxUnsigned = std::numeric_limits<std::uint64_t>::max();
constexpr auto kMaxSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

template <std::size_t N>
constexpr Kind make_kind(const char* noun, const char* example, const char* base,
                         const Unit (&units)[N], std::uint64_t max) {
  return {noun, example, base, units, N, max};
}
constexpr Kind kTime = make_kind("a time", "250 ns", "picoseconds", kTimeUnits, kMaxSigned);
constexpr Kind kBytes = make_kind("a size", "4 KiB", "bytes", kBytesUnits, kMaxUnsigned);
constexpr Kind kBitRate =
    make_kind("a rate", "100 Gb/s", "bits per second", kBitRateUnits, kMaxUnsigned);
constexpr Kind kFrequency =
    make_kind("a frequency", "1.2 GHz", "hertz", kFrequencyUnits, kMaxUnsigned);
/// Propagation is 5 ps a millimetre and must stay a Time.
constexpr Kind kLength = make_kind("a length", "3 m", "millimetres", kLengthUnits, kMaxSigned / 5);
constexpr Kind kCycles =
    make_kind("a number of cycles", "12 cycles", "cycles", kCyclesUnits, kMaxUnsigned);

std::string join_units(const Kind& kind, const char* separator) {
  std::string text;
  for (std::size_t i = 0; i < kind.count; ++i) {
    if (i > 0) text += separator;
    text += kind.units[i].name;
  }
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A decimal number as mantissa / 10^decimals, without trailing zeros behind the point.
struct Decimal {
  Uint128 mantissa = 0;
  Uint128 scale = 1;
};

/// More digits than this could overflow mantissa x unit in 128 bits; no value needs them.
constexpr int kMaxDigits = 25;

/// Splits `text` into the number and what follows. False if it does not begin with a number.
bool split_number(std::string_view text, std::string_view& number, std::string_view& rest) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == 0) return false;
  if (end < text.size() && text[end] == '.') {
    std::size_t point = end++;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == point + 1) return false;
  }
  number = text.substr(0, end);
  rest = text.substr(end);
  return true;
}

/// False if the number has too many digits.
bool read_decimal(std::string_view number, Decimal& decimal) {
  if (number.find('.') != std::string_view::npos) {
    while (number.back() == '0') number.remove_suffix(1);
    if (number.back() == '.') number.remove_suffix(1);
  }
  int digits = 0;
  bool behind_point = false;
  for (const char c : number) {
    if (c == '.') {
      behind_point = true;
      continue;
    }
    if ((decimal.mantissa != 0 || behind_point || c != '0') && ++digits > kMaxDigits) return false;
    decimal.mantissa = decimal.mantissa * 10 + static_cast<unsigned>(c - '0');
    if (behind_point) decimal.scale *= 10;
  }
  return true;
}

bool refuse(std::string& error, std::string why) {
  error = std::move(why);
  return false;
}

std::string decimal_text(std::uint64_t value, const Unit& unit);

bool too_large(const Kind& kind, std::string& error) {
  return refuse(error, "is too large (at most " + decimal_text(kind.max, kind.units[0]) + ")");
}

/// Number and unit of `text`, or the reason why not.
bool split_quantity(std::string_view text, const Kind& kind, std::string_view& number,
                    const Unit*& unit, std::string& error) {
  std::string_view rest;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) return refuse(error, "has a sign");
  if (!split_number(text, number, rest))
    return refuse(error, "is not a decimal number followed by a unit");
  if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  if (rest.empty()) return refuse(error, "has no unit (" + join_units(kind, ", ") + ")");
  for (std::size_t i = 0; i < kind.count; ++i) {
    unit = &kind.units[i];
    if (rest == unit->name) return true;
  }
  return refuse(error, "has an unknown unit (known: " + join_units(kind, ", ") + ")");
}

bool parse_whole(std::string_view text, const Kind& kind, std::uint64_t& value,
                 std::string& error) {
  std::string_view number;
  const Unit* unit = nullptr;
  if (!split_quantity(text, kind, number, unit, error)) return false;
  Decimal decimal;
  if (!read_decimal(number, decimal)) return refuse(error, "has too many digits");
  const Uint128 scaled = decimal.mantissa * unit->size;
  if (scaled / decimal.scale > kind.max) return too_large(kind, error);
  if (scaled % decimal.scale != 0)
    return refuse(error, std::string("is not a whole number of ") + kind.base);
  value = static_cast<std::uint64_t>(scaled / decimal.scale);
  return true;
}

/// `value` of the base unit, written in `unit` (a power of ten of the base).
std::string decimal_text(std::uint64_t value, const Unit& unit) {
  std::string text = std::to_string(value / unit.size);
  std::uint64_t rest = value % unit.size;
  if (rest != 0) {
    text += '.';
    for (std::uint64_t place = unit.size / 10; rest != 0; place /= 10) {
      text += static_cast<char>('0' + rest / place);
      rest %= place;
    }
  }
  return text + ' ' + unit.name;
}

/// The largest unit that is not larger than the value and needs at most six decimals.
std::string best_decimal(std::uint64_t value, const Unit* units, std::size_t count) {
  for (std::size_t i = count; i-- > 1;) {
    const std::uint64_t last_place = units[i].size > kMega ? units[i].size / kMega : 1;
    if (value >= units[i].size && value % last_place == 0) return decimal_text(value, units[i]);
  }
  return decimal_text(value, units[0]);
}

/// "numerator/denominator b/s", as to_text writes a rate that is no whole number of bits per
/// second.
bool parse_fraction(std::string_view text, BitRate& value) {
  const std::size_t slash = text.find('/');
  const std::string_view tail = " b/s";
  if (slash == std::string_view::npos || text.size() < slash + 1 + tail.size()) return false;
  if (text.substr(text.size() - tail.size()) != tail) return false;
  std::uint64_t parts[2] = {0, 0};
  const std::string_view digits[2] = {
      text.substr(0, slash), text.substr(slash + 1, text.size() - slash - 1 - tail.size())};
  for (int i = 0; i < 2; ++i) {
    if (digits[i].empty() || digits[i].size() > 19) return false;
    for (const char c : digits[i]) {
      if (!is_digit(c)) return false;
      parts[i] = parts[i] * 10 + static_cast<unsigned>(c - '0');
    }
  }
  if (parts[0] == 0 || parts[1] == 0) return false;
  value = BitRate(parts[0], parts[1]);
  return true;
}

QuantityKind describe(const Kind& kind) {
  return {kind.noun, kind.example, join_units(kind, ", "),
          "^[0-9]+(\\.[0-9]+)? ?(" + join_units(kind, "|") + ")$"};
}

}  // namespace

bool parse_quantity(std::string_view text, Time& value, std::string& error) {
  std::uint64_t n = 0;
  if (!parse_whole(text, kTime, n, error)) return false;
  value = Time::ps(static_cast<std::int64_t>(n));
  return true;
}

bool parse_quantity(std::string_view text, Bytes& value, std::string& error) {
  std::uint64_t n = 0;
  if (!parse_whole(text, kBytes, n, error)) return false;
  value = Bytes(n);
  return true;
}

bool parse_quantity(std::string_view text, BitRate& value, std::string& error) {
  if (parse_fraction(text, value)) return true;
  std::uint64_t n = 0;
  if (!parse_whole(text, kBitRate, n, error)) return false;
  value = BitRate(n);
  return true;
}

bool parse_quantity(std::string_view text, Frequency& value, std::string& error) {
  std::uint64_t n = 0;
  if (!parse_whole(text, kFrequency, n, error)) return false;
  value = Frequency(n);
  return true;
}

bool parse_quantity(std::string_view text, Length& value, std::string& error) {
  std::uint64_t n = 0;
  if (!parse_whole(text, kLength, n, error)) return false;
  value = Length(n);
  return true;
}

bool parse_quantity(std::string_view text, Cycles& value, std::string& error) {
  std::uint64_t n = 0;
  if (!parse_whole(text, kCycles, n, error)) return false;
  value = Cycles(n);
  return true;
}

std::string to_text(Time value) {
  const bool negative = value < Time();
  const auto magnitude = static_cast<std::uint64_t>(value.ps());
  const std::string text =
      best_decimal(negative ? 0 - magnitude : magnitude, kTime.units, kTime.count);
  return negative ? "-" + text : text;
}

std::string to_text(Bytes value) {
  // Sizes are whole counts of a unit, binary or decimal, whichever gives the smaller number.
  const Unit* best = &kBytes.units[0];
  for (std::size_t i = 1; i < kBytes.count && value.count() != 0; ++i)
    if (value.count() % kBytes.units[i].size == 0) best = &kBytes.units[i];
  return std::to_string(value.count() / best->size) + ' ' + best->name;
}

std::string to_text(BitRate value) {
  if (value.denominator() == 1) return best_decimal(value.numerator(), kBitRate.units, kBitUnits);
  return std::to_string(value.numerator()) + '/' + std::to_string(value.denominator()) + " b/s";
}

std::string to_text(Frequency value) {
  return best_decimal(value.hz(), kFrequency.units, kFrequency.count);
}

std::string to_text(Length value) { return best_decimal(value.mm(), kLength.units, kLength.count); }

std::string to_text(Cycles value) {
  return std::to_string(value.count()) + (value.count() == 1 ? " cycle" : " cycles");
}

QuantityKind quantity_kind(Time) { return describe(kTime); }
QuantityKind quantity_kind(Bytes) { return describe(kBytes); }
QuantityKind quantity_kind(BitRate) {
  QuantityKind kind = describe(kBitRate);
  kind.pattern = "^([0-9]+(\\.[0-9]+)? ?(" + join_units(kBitRate, "|") + ")|[0-9]+/[0-9]+ b/s)$";
  return kind;
}
QuantityKind quantity_kind(Frequency) { return describe(kFrequency); }
QuantityKind quantity_kind(Length) { return describe(kLength); }
QuantityKind quantity_kind(Cycles) { return describe(kCycles); }

}  // namespace rnicsim
