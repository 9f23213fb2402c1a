// SPDX-License-Identifier: MIT
#include "tools/export/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rnicsim {
namespace {

using Records = std::vector<TimelineRecord>;

std::string key_of(const TimelineRecord& r) { return fmt::format("{} {}", r.step, r.part); }

void add(Waterfall& message, const std::string& key, const std::string& name, int step, Time begin,
         Time end) {
  if (begin < end) message.stages.push_back({key, name, step, begin, end});
}

/// From the end of a record, or of its first packet, until the next begins.
void between(Waterfall& message, const TimelineRecord& last, const TimelineRecord& next, Time begin,
             Time latest_end, Language language) {
  if (last.step != 9 && next.step == 9 && latest_end > begin)
    add(message, "stream", label(Label::kStream, language), 0, begin, next.begin);
  else
    add(message, fmt::format("to {}", key_of(next)),
        fmt::format(fmt::runtime(label(Label::kOnTheWay, language)), part_label(next, language)), 0,
        begin, next.begin);
}

Waterfall waterfall(Records records, Language language) {
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.step < b.step;
  });
  Waterfall message;
  message.work_request = records.front().work_request;
  Time latest_end;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const TimelineRecord& r = records[i];
    latest_end = std::max(latest_end, r.end);
    if (i + 1 == records.size()) {
      add(message, key_of(r), part_label(r, language), r.step, r.begin, latest_end);
      break;
    }
    const TimelineRecord& next = records[i + 1];
    const Time end = std::min(r.first_end, next.begin);
    add(message, key_of(r), part_label(r, language), r.step, r.begin, end);
    between(message, r, next, end, latest_end, language);
  }
  return message;
}

Time ranked(const std::vector<Time>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

StageTimes times_of(const std::string& name, std::vector<Time> times) {
  std::sort(times.begin(), times.end());
  return {name,        times.size(), ranked(times, 50), ranked(times, 90), ranked(times, 99),
          times.back()};
}

}  // namespace

std::vector<Waterfall> waterfalls(const Records& timeline, Language language) {
  std::vector<Records> messages;
  std::map<std::uint64_t, std::size_t> places;  // by work request
  for (const TimelineRecord& r : timeline) {
    if (r.step == 0 || r.plane != "data") continue;
    const auto [place, is_new] = places.emplace(r.work_request, messages.size());
    if (is_new) messages.emplace_back();
    messages[place->second].push_back(r);
  }
  std::vector<Waterfall> all;
  all.reserve(messages.size());
  for (Records& records : messages) all.push_back(waterfall(std::move(records), language));
  return all;
}

std::vector<StageTimes> stage_times(const std::vector<Waterfall>& messages, Language language) {
  struct Stage {
    std::string key;
    std::string name;
    std::vector<Time> times;
  };
  std::vector<Stage> stages;
  std::vector<Time> whole;
  for (const Waterfall& message : messages) {
    if (message.stages.empty()) continue;
    whole.push_back(message.stages.back().end - message.stages.front().begin);
    for (const WaterfallStage& s : message.stages) {
      auto stage = std::find_if(stages.begin(), stages.end(),
                                [&](const Stage& other) { return other.key == s.key; });
      if (stage == stages.end()) stage = stages.insert(stages.end(), {s.key, s.name, {}});
      stage->times.push_back(s.takes());
    }
  }
  std::vector<StageTimes> all;
  all.reserve(stages.size() + 1);
  for (Stage& stage : stages) all.push_back(times_of(stage.name, std::move(stage.times)));
  if (!whole.empty()) all.push_back(times_of(label(Label::kWhole, language), std::move(whole)));
  return all;
}

}  // namespace rnicsim
