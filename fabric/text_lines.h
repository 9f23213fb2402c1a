// SPDX-License-Identifier: MIT
// Files of other simulators: words separated by blanks, line by line, with errors that name file
// and line, what was expected and what was found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/config_error.h"
#include "model/units.h"

namespace rnicsim {

/// Throws ConfigError if it cannot be read.
std::string read_text_file(const std::string& file);

class TextLines {
 public:
  /// REQUIRES: `text` outlives this.
  TextLines(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  /// Goes to the next line, blank ones included. False at the end.
  bool next();
  /// Goes to the next line that has words.
  bool next_with_words();
  /// Of the current line.
  const std::vector<std::string_view>& words() const { return words_; }
  int line() const { return line_; }
  const std::string& file() const { return file_; }

  /// An error at the current line; `expected` may be empty, then `found` says it all.
  ConfigError error(std::string expected, std::string found) const;
  ConfigError error_at(int line, std::string expected, std::string found) const;

  // Word `i` of the current line, or an error that says what was expected ("a rate").
  std::uint64_t whole_number(std::size_t i, std::uint64_t max, const char* what) const;
  /// In `unit` of model/quantity where the file gives none: "Gb/s", "ns".
  BitRate rate_in(std::size_t i, const char* unit, const char* what) const;
  Time time_in(std::size_t i, const char* unit, const char* what) const;
  /// As ns-3 writes them: "100Gbps", "25000000000.0" (b/s); "0.001ms", "1us", "1.5" (s).
  BitRate ns3_rate(std::size_t i, const char* what) const;
  Time ns3_time(std::size_t i, const char* what) const;
  double probability(std::size_t i, const char* what) const;

  static bool is_whole_number(std::string_view word);

 private:
  std::string found(std::size_t i) const;

  std::string_view rest_;
  std::string file_;
  int line_ = 0;
  std::vector<std::string_view> words_;
};

}  // namespace rnicsim
