// SPDX-License-Identifier: MIT
// Where the time of a message went: its span cut into stages that follow each other without a gap
// and add up to it exactly.
//
// Of work requests these are the stages of scenarios/engine/latency_breakdown. Of messages that it
// does not follow (over TCP, or that ended in error) they are made from the timeline: a stage is a
// record of the message from its begin until the next one begins: of many packets the first counts,
// which is how long the pipeline takes to fill. What lies between two of them was on its way from
// block to block. Where the end of the message waits for the other packets (before step 9, or
// between the first and the last of the record that begins last), that is a stage of its own.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "tools/export/labels.h"

namespace rnicsim {

struct WaterfallStage {
  std::string key;  ///< the same for the same stage of each message, in every language
  std::string name;
  int step = 0;  ///< 0: none
  Time begin;
  Time end;
  Time takes() const { return end - begin; }
};

struct Waterfall {
  std::uint64_t work_request = 0;
  std::string workload;  ///< empty: the timeline does not know
  std::vector<WaterfallStage> stages;
};

/// One for each message that the timeline followed, in the order of their begin.
std::vector<Waterfall> waterfalls(const RunResult& result, Language language);

/// How long a stage took, over many messages.
struct StageRow {
  std::string name;
  std::uint64_t messages = 0;  ///< that had it
  Time mean;
  Time p50;
  Time p90;
  Time p99;
  Time max;
  double share = 0;  ///< of the time of all messages
};

struct Spread {
  std::string workload;  ///< empty: of messages that only the timeline followed
  std::uint64_t messages = 0;
  std::uint64_t left_out = 0;
  std::vector<StageRow> rows;  ///< in the order in which stages first occur
  StageRow whole;
  std::vector<Waterfall> ranked;  ///< of 50 %, 90 %, 99 % and the longest, a stage once each
};

/// By workload, then of messages that only the timeline followed.
std::vector<Spread> spreads(const RunResult& result, Language language);

}  // namespace rnicsim
