// SPDX-License-Identifier: MIT
// Text for a terminal: colours that may be off, columns, lines broken at blanks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rnicsim {

struct TerminalStyle {
  bool colour = false;
  bool timeline = true;  ///< draw it; faults are shown anyway
};

constexpr std::size_t kTerminalColumns = 100;

enum class Ink { kHeading, kStep, kBar, kGood, kBad };
std::string inked(const TerminalStyle& style, Ink ink, const std::string& text);

/// Characters, not bytes.
std::size_t width_of(std::string_view text);
std::string padded(const std::string& text, std::size_t width);
std::string padded_left(const std::string& text, std::size_t width);
/// Lines no wider than `width`, broken at blanks; a longer word is cut. Control characters, which a
/// file may have put into a title, become blanks.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

}  // namespace rnicsim
