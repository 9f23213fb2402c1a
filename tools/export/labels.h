// SPDX-License-Identifier: MIT
// The words of pictures and pages, in English and Japanese: one table, tools/export/labels.cpp.
// What records and verdicts say has files of its own (record_text, bottleneck_text).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "tools/export/language.h"

namespace rnicsim {

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
  kAtLeast,    ///< {}
  kAtMost,     ///< {}
  kFromTo,     ///< {} {}
  kMissed,     ///< an expectation: which {}, expected {}, found {}
  kMissedNoLonger,
  kViolated,       ///< kind {}, place {}, time {}, text {}
  kUnknownSource,  ///< of a value that no preset has given
};
/// May have places {} for fmt.
const char* label(Label which, Language language);

/// What kind of violation it is: as the document names it, in Japanese with a word beside it.
std::string violation_label(const std::string& kind, Language language);

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
