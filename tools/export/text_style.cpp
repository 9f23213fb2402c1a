// SPDX-License-Identifier: MIT
#include "tools/export/text_style.h"

#include <algorithm>

namespace rnicsim {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

/// Bytes of the first `width` characters.
std::size_t bytes_of(std::string_view text, std::size_t width) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (begins_character(text[i]) && seen++ == width) return i;
  return text.size();
}

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::kHeading:
      return "\033[1m";
    case Ink::kStep:
      return "\033[1;36m";
    case Ink::kBar:
      return "\033[36m";
    case Ink::kGood:
      return "\033[32m";
    case Ink::kBad:
      break;
  }
  return "\033[1;31m";
}

}  // namespace

std::string inked(const TerminalStyle& style, Ink ink, const std::string& text) {
  return style.colour && !text.empty() ? code_of(ink) + text + "\033[0m" : text;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t now = width_of(text);
  return now < width ? text + std::string(width - now, ' ') : text;
}

std::string padded_left(const std::string& text, std::size_t width) {
  const std::size_t now = width_of(text);
  return now < width ? std::string(width - now, ' ') + text : text;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::string rest = text;
  for (char& c : rest)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  std::vector<std::string> lines;
  while (width_of(rest) > width) {
    const std::size_t limit = bytes_of(rest, width + 1);
    std::size_t end = rest.rfind(' ', limit - 1);
    const bool at_blank = end != std::string::npos && end > 0;
    if (!at_blank) end = bytes_of(rest, width);
    lines.push_back(rest.substr(0, end));
    rest.erase(0, at_blank ? end + 1 : end);
  }
  lines.push_back(std::move(rest));
  return lines;
}

}  // namespace rnicsim
