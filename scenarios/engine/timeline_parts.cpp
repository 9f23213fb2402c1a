// SPDX-License-Identifier: MIT
#include "scenarios/engine/timeline_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace rnicsim {

void TimelineParts::grow(const TimelineRow& row, const std::string& host, Time begin, Time end,
                         std::uint64_t bytes, std::uint64_t work_request) {
  Part& part = parts_[key_of(row)];
  TimelineRecord& record = part.record;
  if (part.count++ == 0) {
    record = {row.step, row.part, begin,     end,       1, end,          begin,
              host,     row.lane, row.block, row.plane, 0, work_request, row.text};
    record.detail.what = row.what;
  }
  if (end < record.first_end) record.first_end = end;
  if (begin > record.last_begin) record.last_begin = begin;
  record.begin = std::min(record.begin, begin);
  record.end = std::max(record.end, end);
  record.bytes += bytes;
}

bool TimelineParts::extend(const TimelineRow& row, Time end) {
  const auto at = parts_.find(key_of(row));
  if (at == parts_.end()) return false;
  Part& part = at->second;
  if (part.extended++ == 0) part.record.first_end = end;
  part.record.end = std::max(part.record.end, end);
  return true;
}

void TimelineParts::take(std::vector<TimelineRecord>& records) {
  for (auto& entry : parts_) {
    Part& part = entry.second;
    TimelineRecord& record = part.record;
    record.count = part.count;
    record.detail.misses = part.misses;
    if (part.misses != 0)
      record.text += ", " + std::to_string(part.misses) + " waited for the table";
    if (part.count > 1)
      record.text += fmt::format("; {}: first until {:.3f}, last from {:.3f}", part.count,
                                 record.first_end.as_us(), record.last_begin.as_us());
    records.push_back(record);
  }
}

}  // namespace rnicsim
