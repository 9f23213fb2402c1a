// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/quantity.h"

namespace rnicsim {
namespace {

constexpr double kMostExact = 9007199254740991;  // whole numbers above it are not all there

enum class Kind : std::uint8_t {
  kWhole,
  kReal,
  kTime,
  kBytes,
  kRate,
  kFrequency,
  kLength,
  kCycles,
  kNone
};

struct Number {
  Kind kind = Kind::kNone;
  double value = 0;
};

template <class T>
bool reads(const std::string& text, T& value) {
  std::string ignored;
  return parse_quantity(text, value, ignored);
}

Number quantity_of(const std::string& text) {
  Time time;
  Bytes bytes;
  BitRate rate;
  Frequency frequency;
  Length length;
  Cycles cycles;
  if (reads(text, time)) return {Kind::kTime, static_cast<double>(time.ps())};
  if (reads(text, bytes)) return {Kind::kBytes, static_cast<double>(bytes.count())};
  if (reads(text, rate))
    return {Kind::kRate,
            static_cast<double>(rate.numerator()) / static_cast<double>(rate.denominator())};
  if (reads(text, frequency)) return {Kind::kFrequency, static_cast<double>(frequency.hz())};
  if (reads(text, length)) return {Kind::kLength, static_cast<double>(length.mm())};
  if (reads(text, cycles)) return {Kind::kCycles, static_cast<double>(cycles.count())};
  return {};
}

Number bare_number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) return {};
  const bool whole = text.find_first_of(".eE") == std::string::npos;
  return {whole ? Kind::kWhole : Kind::kReal, value};
}

std::string text_in(Kind kind, double value) {
  const auto whole = static_cast<std::uint64_t>(std::llround(value));
  switch (kind) {
    case Kind::kTime:
      return to_text(Time::ps(static_cast<std::int64_t>(whole)));
    case Kind::kBytes:
      return to_text(Bytes(whole));
    case Kind::kRate:
      return to_text(BitRate(whole));
    case Kind::kFrequency:
      return to_text(Frequency(whole));
    case Kind::kLength:
      return to_text(Length(whole));
    case Kind::kCycles:
      return to_text(Cycles(whole));
    case Kind::kReal:
      return fmt::format("{}", value);  // the shortest that reads back the same
    case Kind::kWhole:
    case Kind::kNone:
      break;
  }
  return fmt::format("{}", std::llround(value));
}

Number end_of(const JsonNode& node, const char* key) {
  Number number;
  if (node.is_number()) number = bare_number_of(node.text());
  if (node.is_string()) number = quantity_of(node.text());
  if (number.kind == Kind::kNone)
    throw error_at(node, key, "a number or a quantity such as \"4 KiB\"", node.found_text());
  return number;
}

void check_exact(Kind kind, double value, const JsonNode& node, const char* key) {
  if (kind == Kind::kReal || std::abs(value) <= kMostExact) return;
  const std::string most = fmt::format("{:.0f}", kMostExact);
  const std::string expected = kind == Kind::kWhole
                                   ? fmt::format("a number from -{0} to {0}", most)
                                   : fmt::format("no more than {} of the base unit", most);
  throw error_at(node, key, expected, node.found_text());
}

/// The ends in what both are written in.
struct Ends {
  explicit Ends(const RangeEnds& ends) {
    const Number first = end_of(ends.from, "from");
    const Number last = end_of(ends.to, "to");
    from = first.value;
    to = last.value;
    kind = first.kind;
    const bool bare = first.kind <= Kind::kReal && last.kind <= Kind::kReal;
    if (bare) kind = std::max(first.kind, last.kind);
    if (!bare && first.kind != last.kind)
      throw error_at(ends.to, "to", "a value of the kind of \"from\"", ends.to.found_text());
    check_exact(kind, from, ends.from, "from");
    check_exact(kind, to, ends.to, "to");
    if (from == to) throw error_at(ends.to, "to", "another value than \"from\"", "the same");
  }
  double from;
  double to;
  Kind kind;
};

void check_logarithmic(const Ends& ends, const RangeEnds& nodes) {
  if (ends.from <= 0) throw error_at(nodes.from, "from", "more than 0", nodes.from.found_text());
  if (ends.to <= 0) throw error_at(nodes.to, "to", "more than 0", nodes.to.found_text());
}

template <class Between>
std::vector<JsonNode> range_of(const Ends& ends, const RangeEnds& nodes, std::size_t count,
                               const Between& between) {
  std::vector<JsonNode> values;
  for (std::size_t i = 0; i < count; ++i) {
    double value = between(static_cast<double>(i) / static_cast<double>(count - 1));
    if (i == 0) value = ends.from;
    if (i + 1 == count) value = ends.to;
    const std::string text = text_in(ends.kind, value);
    if (!values.empty() && values.back().text() == text) continue;
    values.push_back(ends.kind <= Kind::kReal ? JsonNode::number(text) : JsonNode::string(text));
    values.back().set_place(nodes.from);
  }
  return values;
}

}  // namespace

std::string short_text(const std::string& text) {
  const Number number = bare_number_of(text);
  return number.kind == Kind::kReal ? fmt::format("{:.6g}", number.value) : text;
}

std::optional<double> number_of_text(const std::string& text) {
  Number number = bare_number_of(text);
  if (number.kind == Kind::kNone) number = quantity_of(text);
  return number.kind == Kind::kNone ? std::nullopt : std::optional<double>(number.value);
}

std::vector<JsonNode> linear_range(const RangeEnds& nodes, std::size_t count) {
  const Ends ends(nodes);
  return range_of(ends, nodes, count,
                  [&](double part) { return ends.from + part * (ends.to - ends.from); });
}

std::vector<JsonNode> logarithmic_range(const RangeEnds& nodes, std::size_t count) {
  const Ends ends(nodes);
  check_logarithmic(ends, nodes);
  return range_of(ends, nodes, count,
                  [&](double part) { return ends.from * std::pow(ends.to / ends.from, part); });
}

std::size_t count_of_decades(const RangeEnds& nodes, double per_decade) {
  const Ends ends(nodes);
  check_logarithmic(ends, nodes);
  const double steps = std::abs(std::log10(ends.to / ends.from)) * per_decade;
  return 1 + static_cast<std::size_t>(std::max(1.0, std::round(steps)));
}

}  // namespace rnicsim
