// SPDX-License-Identifier: MIT
#include "fabric/text_lines.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/quantity.h"

namespace rnicsim {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "100Gbps" is number and unit; what is behind the number may be empty.
void split_unit(std::string_view word, std::string& number, std::string& unit) {
  std::size_t end = 0;
  while (end < word.size() && (is_digit(word[end]) || word[end] == '.')) ++end;
  number = word.substr(0, end);
  unit = word.substr(end);
  if (!number.empty() && number.back() == '.') number.pop_back();  // "1." is a number elsewhere
}

/// The unit of model/quantity for one of ns-3: bps, kbps, Gb/s, GBps, ...
std::string rate_unit(std::string unit) {
  if (unit.empty()) return "b/s";
  const std::size_t per_second = unit.rfind("ps");
  if (per_second != std::string::npos && per_second + 2 == unit.size())
    unit.replace(per_second, 2, "/s");
  if (unit[0] == 'K' && unit.size() > 1 && unit[1] != 'i') unit[0] = 'k';
  return unit;
}

}  // namespace

std::string read_text_file(const std::string& file) {
  const auto unreadable = [&](const std::string& why) {
    ConfigError::Detail detail;
    detail.file = file;
    detail.found = "cannot be read: " + why;
    return ConfigError(std::move(detail));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw unreadable("it is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw unreadable(std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw unreadable(std::strerror(errno));
  return text.str();
}

bool TextLines::next() {
  words_.clear();
  if (rest_.empty()) return false;
  ++line_;
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  const std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  for (std::size_t i = 0; i < text.size();) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    const std::size_t first = i;
    while (i < text.size() && !is_blank(text[i])) ++i;
    words_.push_back(text.substr(first, i - first));
  }
  return true;
}

bool TextLines::next_with_words() {
  while (next())
    if (!words_.empty()) return true;
  return false;
}

ConfigError TextLines::error(std::string expected, std::string found) const {
  return error_at(line_, std::move(expected), std::move(found));
}

ConfigError TextLines::error_at(int line, std::string expected, std::string found) const {
  ConfigError::Detail detail;
  detail.file = file_;
  detail.line = line;
  detail.expected = std::move(expected);
  detail.found = std::move(found);
  return ConfigError(std::move(detail));
}

bool TextLines::is_whole_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

std::string TextLines::found(std::size_t i) const {
  return i < words_.size() ? in_quotes(words_[i]) : "the end of the line";
}

std::uint64_t TextLines::whole_number(std::size_t i, std::uint64_t max, const char* what) const {
  std::uint64_t value = 0;
  const bool digits = i < words_.size() && is_whole_number(words_[i]);
  const bool fits =
      digits && std::from_chars(words_[i].data(), words_[i].data() + words_[i].size(), value).ec ==
                    std::errc();
  if (!fits || value > max)
    throw error(std::string(what) + ", a whole number up to " + std::to_string(max), found(i));
  return value;
}

BitRate TextLines::rate_in(std::size_t i, const char* unit, const char* what) const {
  BitRate rate;
  std::string problem;
  const std::string word(i < words_.size() ? words_[i] : std::string_view());
  if (!parse_quantity(word + ' ' + unit, rate, problem) || rate == BitRate(0))
    throw error(std::string(what) + " in " + unit, found(i));
  return rate;
}

Time TextLines::time_in(std::size_t i, const char* unit, const char* what) const {
  Time time;
  std::string problem;
  const std::string word(i < words_.size() ? words_[i] : std::string_view());
  if (!parse_quantity(word + ' ' + unit, time, problem) || time > Time::s(1))
    throw error(std::string(what) + " in " + unit + ", at most 1 s", found(i));
  return time;
}

BitRate TextLines::ns3_rate(std::size_t i, const char* what) const {
  std::string number;
  std::string unit;
  if (i < words_.size()) split_unit(words_[i], number, unit);
  BitRate rate;
  std::string problem;
  if (!parse_quantity(number + ' ' + rate_unit(unit), rate, problem) || rate == BitRate(0))
    throw error(std::string(what) + " such as 100Gbps", found(i));
  return rate;
}

Time TextLines::ns3_time(std::size_t i, const char* what) const {
  std::string number;
  std::string unit;
  if (i < words_.size()) split_unit(words_[i], number, unit);
  Time time;
  std::string problem;
  if (!parse_quantity(number + ' ' + (unit.empty() ? "s" : unit), time, problem) ||
      time > Time::s(1))
    throw error(std::string(what) + " such as 0.001ms, whole picoseconds, at most 1 s", found(i));
  return time;
}

double TextLines::probability(std::size_t i, const char* what) const {
  double value = 0;
  bool good = i < words_.size();
  if (good) {
    const char* end = words_[i].data() + words_[i].size();
    const auto result = std::from_chars(words_[i].data(), end, value);
    good = result.ec == std::errc() && result.ptr == end && value >= 0.0 && value <= 1.0;
  }
  if (!good) throw error(std::string(what) + " from 0 to 1", found(i));
  return value;
}

}  // namespace rnicsim
