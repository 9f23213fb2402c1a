// SPDX-License-Identifier: MIT
#include "model/config_error.h"

#include <algorithm>
#include <cstdio>

namespace rnicsim {
namespace {

/// Control characters would break the one line (or play with a terminal).
std::string printable(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(byte));
      out += escape;
    }
  }
  return out;
}

std::string message(const ConfigError::Detail& detail) {
  std::string text = detail.file;
  if (detail.line > 0) text += ':' + std::to_string(detail.line);
  if (!text.empty()) text += ": ";
  if (!detail.path.empty()) text += detail.path + ": ";
  if (!detail.expected.empty()) text += "expected " + detail.expected + ", found ";
  text += detail.found;
  if (!detail.nearest.empty()) text += ", did you mean \"" + detail.nearest + "\"?";
  return printable(text);
}

/// Optimal string alignment distance, three rows of the matrix at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = last;
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

ConfigError::ConfigError(Detail detail)
    : std::runtime_error(message(detail)), detail_(std::move(detail)) {}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() <= kLongest) return '"' + std::string(text) + '"';
  std::size_t end = kLongest;
  // Not in the middle of a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return '"' + std::string(text.substr(0, end)) + "...\"";
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;  // no key is longer, and the distance costs the product
  if (word.size() > kLongest) return {};
  const std::size_t limit = (word.size() + 2) / 3;
  std::size_t best = limit + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word.size() + limit) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string one_of_text(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace rnicsim
