// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_expression.h"

#include <cctype>
#include <cmath>
#include <optional>

#include "model/config_error.h"
#include "scenarios/engine/study_value.h"

namespace rnicsim {
namespace {

constexpr int kMaxDepth = 64;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// What a part of an expression is worth: a truth is 1 or 0.
struct Value {
  std::string text;  ///< as it stood there; of what was calculated empty
  std::optional<double> number;
  std::optional<double> shown;  ///< as people have seen it, which may have fewer digits
};

/// A number that a name stands for equals the one that people have seen for it.
bool is_same(const Value& left, const Value& right) {
  return *left.number == *right.number || left.shown == right.number || left.number == right.shown;
}

/// Reads and calculates in one pass.
class Calculation {
 public:
  Calculation(const std::string& text, const NameLookup& lookup, const NameLookup& shown)
      : text_(text), lookup_(lookup), shown_(shown) {}

  Value result() {
    Value value = alternative();
    skip_blanks();
    if (at_ != text_.size()) fail("expected an operator or the end, found " + rest());
    return value;
  }

  [[noreturn]] void fail(const std::string& why) const {
    ConfigError::Detail detail;
    detail.found = in_quotes(text_) + ": " + why;
    throw ConfigError(std::move(detail));
  }

 private:
  Value alternative() {
    Value left = conjunction();
    while (take_word("or")) {
      const Value right = conjunction();
      left = truth(is_true(left) || is_true(right));
    }
    return left;
  }

  Value conjunction() {
    Value left = comparison();
    while (take_word("and")) {
      const Value right = comparison();
      left = truth(is_true(left) && is_true(right));
    }
    return left;
  }

  Value comparison() {
    Value left = sum();
    for (const char* sign : {"!=", "<=", ">=", "==", "=", "<", ">"}) {
      if (!take(sign)) continue;
      const Value right = sum();
      return truth(compare(left, sign, right));
    }
    return left;
  }

  bool compare(const Value& left, const std::string& sign, const Value& right) const {
    const bool numbers = left.number && right.number;
    const bool same = numbers ? is_same(left, right) : left.text == right.text;
    if (sign == "=" || sign == "==" || sign == "!=") return same == (sign != "!=");
    if (!numbers)
      fail(sign + " compares numbers, not " + in_quotes((left.number ? right : left).text));
    if (same) return sign.size() == 2;
    return sign[0] == '<' ? *left.number < *right.number : *left.number > *right.number;
  }

  Value sum() {
    Value left = product();
    while (true) {
      if (take("+"))
        left = number(as_number(left) + as_number(product()));
      else if (take("-"))
        left = number(as_number(left) - as_number(product()));
      else
        return left;
    }
  }

  Value product() {
    Value left = factor();
    while (true) {
      if (take("*")) {
        left = number(as_number(left) * as_number(factor()));
      } else if (take("/")) {
        const double divisor = as_number(factor());
        if (divisor == 0) fail("divides by 0");
        left = number(as_number(left) / divisor);
      } else {
        return left;
      }
    }
  }

  Value factor() {
    if (++depth_ > kMaxDepth) fail("is nested too deeply");
    skip_blanks();
    Value value;
    if (take("-")) {
      value = number(-as_number(factor()));
    } else if (take("(")) {
      value = alternative();
      if (!take(")")) fail("expected \")\", found " + rest());
    } else {
      value = leaf();
    }
    --depth_;
    return value;
  }

  Value leaf() {
    if (at_ == text_.size()) fail("ends too early");
    const char c = text_[at_];
    if (c == '"' || c == '\'') return of_text(quoted(c));
    if (is_digit(c) || c == '.') return of_text(digits());
    if (is_letter(c)) return of_name(name());
    fail("expected a number or a name, found " + rest());
  }

  std::string quoted(char mark) {
    const std::size_t end = text_.find(mark, at_ + 1);
    if (end == std::string::npos) fail("has a quote without an end");
    std::string inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  /// "64", "1.5e3", "4KiB": then with the blank that quantities have.
  std::string digits() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    const bool exponent = at_ + 1 < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E') &&
                          (is_digit(text_[at_ + 1]) || text_[at_ + 1] == '-');
    if (exponent)
      for (at_ += 2; at_ < text_.size() && is_digit(text_[at_]);) ++at_;
    std::string found = text_.substr(begin, at_ - begin);
    const std::size_t unit = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    if (at_ != unit) found += ' ' + text_.substr(unit, at_ - unit);
    if (!number_of_text(found)) fail("expected a number, found " + in_quotes(found));
    return found;
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool star = c == '*' && text_[at_ - 1] == '.';
      if (!is_letter(c) && !is_digit(c) && c != '.' && !star) break;
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  bool take(const std::string& sign) {
    skip_blanks();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    at_ += sign.size();
    return true;
  }
  bool take_word(const std::string& word) {
    const std::size_t before = at_;
    if (take(word) && (at_ == text_.size() || !(is_letter(text_[at_]) || is_digit(text_[at_]))))
      return true;
    at_ = before;
    return false;
  }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string rest() const {
    return at_ == text_.size() ? "the end" : in_quotes(text_.substr(at_));
  }

  static Value of_text(std::string text) {
    const std::optional<double> number = number_of_text(text);
    return {std::move(text), number, std::nullopt};
  }
  Value of_name(const std::string& name) const {
    Value value = of_text(lookup_(name));
    value.shown = number_of_text(shown_(name));
    return value;
  }
  static Value number(double value) { return {"", value, std::nullopt}; }
  static Value truth(bool holds) { return number(holds ? 1.0 : 0.0); }
  double as_number(const Value& value) const {
    if (!value.number) fail("expected a number, found " + in_quotes(value.text));
    return *value.number;
  }
  bool is_true(const Value& value) const { return as_number(value) != 0; }

  const std::string& text_;
  const NameLookup& lookup_;
  const NameLookup& shown_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double number_of_expression(const std::string& expression, const NameLookup& lookup) {
  Calculation calculation(expression, lookup, lookup);
  const Value value = calculation.result();
  if (!value.number || !std::isfinite(*value.number)) calculation.fail("is no number");
  return *value.number;
}

bool truth_of_expression(const std::string& expression, const NameLookup& lookup,
                         const NameLookup& shown) {
  Calculation calculation(expression, lookup, shown);
  const Value value = calculation.result();
  if (!value.number) calculation.fail("is neither true nor false");
  return *value.number != 0;
}

}  // namespace rnicsim
