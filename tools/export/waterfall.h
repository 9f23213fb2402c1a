// SPDX-License-Identifier: MIT
// Where the time of a message went: its span on the timeline cut into stages that follow each other
// without a gap.
//
// A stage is a record of the message from its begin until the next one begins: of many packets the
// first counts, which is how long the pipeline takes to fill. What lies between two of them was on
// its way from block to block. Where the end of the message (step 9) waits for the other packets,
// that is a stage of its own. The stages of a message add up to its span exactly.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "tools/export/labels.h"

namespace rnicsim {

struct WaterfallStage {
  std::string key;  ///< the same for the same stage of each message, in every language
  std::string name;
  int step = 0;  ///< 0: on its way, or the other packets
  Time begin;
  Time end;
  Time takes() const { return end - begin; }
};

struct Waterfall {
  std::uint64_t work_request = 0;
  std::vector<WaterfallStage> stages;
};

/// One for each message that the timeline followed, in the order of their begin.
std::vector<Waterfall> waterfalls(const std::vector<TimelineRecord>& timeline, Language language);

/// How long a stage took, over the messages that had it: nearest rank.
struct StageTimes {
  std::string name;
  std::size_t messages = 0;
  Time p50;
  Time p90;
  Time p99;
  Time max;
};

/// In the order in which stages first occur; the last is the whole message.
std::vector<StageTimes> stage_times(const std::vector<Waterfall>& messages, Language language);

}  // namespace rnicsim
