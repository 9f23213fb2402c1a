// SPDX-License-Identifier: MIT
// The words of pictures and pages, in English and Japanese: one table, tools/export/labels.cpp.
// What only a record says (a fault's text) stays as the simulator wrote it, in English.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/engine/run_result.h"

namespace rnicsim {

enum class Language : std::uint8_t { kEnglish, kJapanese };

/// "en", "ja".
std::optional<Language> language_of_name(std::string_view name);
const char* name_of(Language language);

/// A word in each language, in the order of Language.
using Words = std::array<const char*, 2>;

enum class Label : std::uint8_t {
  kControlPlane,
  kControlRemark,
  kDataPlane,
  kDataRemark,
  kDataRemarkTcp,
  kDataRemarkEvents,
  kMessage,  ///< {} of {}
  kSpan,     ///< begins at {}, takes {}
  kAsleep,
  kWire,
  kNothing,
  kElsewhere,  ///< faults outside of these times: {}
  kNotDrawn,   ///< messages not drawn: {}
  kOnTheWay,   ///< to {}
  kStream,     ///< the other packets of a message
  kWhole,      ///< message
};
/// May have places {} for fmt.
const char* label(Label which, Language language);

/// The words of a page's script, by the names that it uses.
std::vector<std::pair<std::string, std::string>> page_words(Language language);

/// "A CPU", of lanes app, cpu, nic; the wire has no host.
std::string lane_label(const std::string& host, const std::string& lane, Language language);
/// What step 1 to 9 is, in a few words; `tcp`: of a message over TCP.
std::string step_label(int step, bool tcp, Language language);
/// What a message's time went to.
const char* stage_label(Stage stage, Language language);
/// What the record is, in a few words.
std::string part_label(const TimelineRecord& record, Language language);

}  // namespace rnicsim
