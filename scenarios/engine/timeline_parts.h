// SPDX-License-Identifier: MIT
// The rows of one message on the timeline while its records come in: each row is one record, or the
// first to the last of many alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/units.h"
#include "scenarios/engine/run_result.h"

namespace rnicsim {

/// What a kind of record contributes to.
struct TimelineRow {
  int step;
  const char* part;
  const char* lane;
  const char* block;
  const char* plane;
  const char* text;
  const char* what = "";  ///< what the text depends on beside step and part (RecordDetail)
};

class TimelineParts {
 public:
  /// `work_request`: what its records are grouped by; 0: nothing.
  void grow(const TimelineRow& row, const std::string& host, Time begin, Time end,
            std::uint64_t bytes, std::uint64_t work_request);
  /// What `grow` began has ended later than it knew. False: it has not begun anything.
  bool extend(const TimelineRow& row, Time end);
  /// One of a row's records waited for a table.
  void miss(const TimelineRow& row) { ++parts_[key_of(row)].misses; }
  /// Adds the rows, finished.
  void take(std::vector<TimelineRecord>& records);

 private:
  struct Part {
    TimelineRecord record;
    std::uint64_t count = 0;
    std::uint64_t misses = 0;
    std::uint64_t extended = 0;
  };
  static std::string key_of(const TimelineRow& row) { return std::to_string(row.step) + row.part; }

  std::map<std::string, Part> parts_;
};

}  // namespace rnicsim
