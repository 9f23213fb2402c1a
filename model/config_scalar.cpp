// SPDX-License-Identifier: MIT
#include "model/config_scalar.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "model/json_document.h"
#include "model/quantity.h"

namespace rnicsim {
namespace {

constexpr const char* kIdentifierText = "a letter followed by letters, digits, _ or -";
constexpr const char* kIdentifierPattern = "^[A-Za-z][A-Za-z0-9_-]*$";

template <class T>
constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
constexpr bool kIsQuantity = std::is_class_v<T> && !std::is_same_v<T, std::string>;

std::string plain_text(bool value) { return value ? "true" : "false"; }
std::string plain_text(double value) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}
std::string plain_text(const std::string& value) { return value; }
template <class T>
std::string plain_text(const T& value) {
  if constexpr (kIsInteger<T>)
    return std::to_string(value);
  else
    return to_text(value);
}

template <class T>
bool less(const T& a, const T& b) {
  return a < b;
}
bool less(BitRate a, BitRate b) {
  return static_cast<Uint128>(a.numerator()) * b.denominator() <
         static_cast<Uint128>(b.numerator()) * a.denominator();
}
bool less(Frequency a, Frequency b) { return a.hz() < b.hz(); }
bool less(Length a, Length b) { return a.mm() < b.mm(); }

template <class T>
bool is_power_of_two(const T& value) {
  if constexpr (kIsInteger<T>)
    return value != 0 && (value & (value - 1)) == 0;
  else if constexpr (std::is_same_v<T, Bytes>)
    return is_power_of_two(value.count());
  else
    return true;
}

bool is_identifier(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !letter(text[0])) return false;
  for (const char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '-') return false;
  return true;
}

template <class T>
bool within(const T& value, const ScalarLimits& limits) {
  if (!limits.bounds.empty() &&
      (less(value, std::get<T>(limits.bounds[0])) || less(std::get<T>(limits.bounds[1]), value)))
    return false;
  if (limits.power_of_two && !is_power_of_two(value)) return false;
  bool found = limits.allowed.empty();
  for (const ScalarValue& allowed : limits.allowed) found = found || std::get<T>(allowed) == value;
  return found;
}

bool read(const JsonNode& node, bool& value, std::string& expected) {
  expected = "true or false";
  if (!node.is_bool()) return false;
  value = node.text() == "true";
  return true;
}

bool read(const JsonNode& node, double& value, std::string& expected) {
  expected = "a number";
  if (!node.is_number()) return false;
  const std::string& text = node.text();
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && std::isfinite(value);
}

bool read(const JsonNode& node, std::string& value, std::string& expected) {
  expected = "a string";
  if (!node.is_string()) return false;
  value = node.text();
  return true;
}

template <class T>
bool read(const JsonNode& node, T& value, std::string& expected) {
  static_assert(kIsInteger<T>);
  expected = "a whole number";
  if (!node.is_number()) return false;
  const std::string& text = node.text();
  if (text.find_first_not_of("0123456789") == std::string::npos)
    expected += " from 0 to " + std::to_string(std::numeric_limits<T>::max());
  else if (text[0] == '-')
    expected += ", not negative";
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

template <class T>
[[noreturn]] void refuse_quantity(const JsonNode& node, const std::string& path,
                                  const std::string& why) {
  const QuantityKind kind = quantity_kind(T());
  std::string found = node.found_text();
  if (!why.empty())
    found += ", which " + why;
  else if (node.is_number())
    found += " without a unit (" + kind.units + ")";
  throw error_at(node, path, std::string(kind.noun) + " such as " + in_quotes(kind.example), found);
}

template <class T>
T parse_scalar(const JsonNode& node, const std::string& path, const ScalarLimits& limits) {
  T value{};
  if constexpr (kIsQuantity<T>) {
    std::string why;
    if (!node.is_string() || !parse_quantity(node.text(), value, why))
      refuse_quantity<T>(node, path, why);
  } else {
    std::string expected;
    if (!read(node, value, expected)) {
      // A whole number beyond the type is told the field's own limits.
      const bool whole = node.is_number() && node.text().find_first_of(".eE") == std::string::npos;
      const std::string limit = whole ? limits_text(limits) : std::string();
      throw error_at(node, path, limit.empty() ? expected : limit, node.found_text());
    }
  }
  return value;
}

}  // namespace

std::string limits_text(const ScalarLimits& limits) {
  const auto text = [](const ScalarValue& value) {
    return std::visit([](const auto& v) { return plain_text(v); }, value);
  };
  if (limits.identifier) return kIdentifierText;
  if (!limits.allowed.empty()) {
    std::vector<std::string> words;
    for (const ScalarValue& value : limits.allowed) words.push_back(text(value));
    return one_of_text(words);
  }
  std::string bounds;
  if (!limits.bounds.empty()) bounds = text(limits.bounds[0]) + " to " + text(limits.bounds[1]);
  if (!limits.power_of_two) return bounds;
  return bounds.empty() ? "a power of two" : "a power of two from " + bounds;
}

void read_scalar(const JsonNode& node, const std::string& path, const ScalarLimits& limits,
                 ScalarRef target) {
  std::visit(
      [&](auto* pointer) {
        using T = std::remove_pointer_t<decltype(pointer)>;
        T value = parse_scalar<T>(node, path, limits);
        bool good = within(value, limits);
        if constexpr (std::is_same_v<T, std::string>)
          good = good && (!limits.identifier || is_identifier(value));
        if (!good) throw error_at(node, path, limits_text(limits), node.found_text());
        *pointer = std::move(value);
      },
      target);
}

JsonNode scalar_to_json(ScalarRef value) {
  return std::visit(
      [](const auto* pointer) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(pointer)>>;
        if constexpr (std::is_same_v<T, bool>)
          return JsonNode::boolean(*pointer);
        else if constexpr (std::is_arithmetic_v<T>)
          return JsonNode::number(plain_text(*pointer));
        else
          return JsonNode::string(plain_text(*pointer));
      },
      value);
}

bool is_quantity(ScalarRef value) {
  return std::visit(
      [](const auto* pointer) {
        return kIsQuantity<std::remove_const_t<std::remove_pointer_t<decltype(pointer)>>>;
      },
      value);
}

void scalar_schema(ScalarRef type, const ScalarLimits& limits, JsonNode& schema) {
  std::visit(
      [&](const auto* pointer) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(pointer)>>;
        if constexpr (std::is_same_v<T, bool>) {
          schema.set("type", JsonNode::string("boolean"));
        } else if constexpr (std::is_arithmetic_v<T>) {
          schema.set("type", JsonNode::string(kIsInteger<T> ? "integer" : "number"));
          T low = kIsInteger<T> ? T{} : std::numeric_limits<T>::lowest();
          T high = std::numeric_limits<T>::max();
          if (!limits.bounds.empty()) {
            low = std::get<T>(limits.bounds[0]);
            high = std::get<T>(limits.bounds[1]);
          }
          if (kIsInteger<T> || !limits.bounds.empty()) {
            schema.set("minimum", JsonNode::number(plain_text(low)));
            schema.set("maximum", JsonNode::number(plain_text(high)));
          }
        } else {
          schema.set("type", JsonNode::string("string"));
          if constexpr (kIsQuantity<T>)
            schema.set("pattern", JsonNode::string(quantity_kind(T()).pattern));
          else if (limits.identifier)
            schema.set("pattern", JsonNode::string(kIdentifierPattern));
        }
        if constexpr (!kIsQuantity<T>) {
          if (limits.allowed.empty()) return;
          JsonNode& values = schema.set("enum", JsonNode::array());
          for (const ScalarValue& allowed : limits.allowed) {
            T copy = std::get<T>(allowed);
            values.append(scalar_to_json(&copy));
          }
        }
      },
      type);
}

}  // namespace rnicsim
