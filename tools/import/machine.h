// SPDX-License-Identifier: MIT
// What the readers of this folder find out about a real machine, and the presets that it becomes.
//
// A fact is a value of a host, NIC or link preset with the text that it was read from. The first
// reader to name a value is believed; another that says something else leaves a note. What no
// reader has named keeps the simulator's default, and the machine says so: of the values that such
// listings can tell one by one, of all others (latencies, caches, CPU costs) in one sentence.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/engine/presets.h"

namespace rnicsim {

class Machine {
 public:
  using Json = nlohmann::ordered_json;

  /// Where a value was read: "lspci.txt:12" and the words that stand there.
  struct Place {
    std::string file;
    int line = 0;
    std::string words;
  };

  void learn(PresetKind kind, const std::string& path, const Json& value, const Place& place);
  /// Something that was read and has no place in a preset, or had to be decided.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  bool knows(PresetKind kind, const std::string& path) const;
  Json value(PresetKind kind, const std::string& path) const;

  /// Kinds of which something is known.
  std::vector<PresetKind> kinds() const;
  /// A preset file. REQUIRES: something of that kind is known.
  Json preset(PresetKind kind, const std::string& title) const;
  /// One line each: notes, and what kept its default.
  std::vector<std::string> remarks() const;

 private:
  struct Fact {
    Json value;
    Place place;
  };
  using Facts = std::map<std::string, Fact>;  ///< by path
  std::map<PresetKind, Facts> facts_;
  std::vector<std::string> notes_;
};

/// Reads the text of a preset file as a scenario would. Throws ConfigError.
void check_preset(const std::string& text, PresetKind kind, const std::string& file);

/// A text line by line, and errors about it.
class ListingLines {
 public:
  ListingLines(std::string_view text, std::string file);

  std::size_t size() const { return lines_.size(); }
  std::string_view operator[](std::size_t i) const { return lines_[i]; }
  Machine::Place place(std::size_t i, std::string words) const {
    return {file_, static_cast<int>(i) + 1, std::move(words)};
  }
  [[noreturn]] void fail(std::size_t i, std::string expected, std::string found) const;
  [[noreturn]] void fail_at_end(std::string expected) const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<std::string_view> lines_;
};

/// "100 Gb/s", as presets write it.
std::string rate_text(std::uint64_t mbps);
/// Without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);
/// What stands between `before` and the next of `ends` (or the end); empty if `before` is not
/// there.
std::string_view text_between(std::string_view line, std::string_view before,
                              std::string_view ends);
/// "8GT/s", "8.0 GT/s PCIe" -> 3; 0 if it is no speed of PCIe.
unsigned pcie_generation(std::string_view speed);

}  // namespace rnicsim
