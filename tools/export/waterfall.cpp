// SPDX-License-Identifier: MIT
#include "tools/export/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

/// Nothing begins after `last`: its first packet, the others, and the last of what ends last.
void tail(Waterfall& message, const Records& records, const TimelineRecord& last,
          Language language) {
  const TimelineRecord* longest = &last;
  for (const TimelineRecord& r : records)
    if (r.end > longest->end) longest = &r;
  const Time first_end = std::min(last.first_end, longest->end);
  const Time last_begin = std::max(first_end, longest->last_begin);
  const auto add_record = [&](const TimelineRecord& r, Time begin, Time end) {
    add(message, key_of(r), part_label(r, language), r.step, begin, end);
  };
  if (longest == &last && last_begin == first_end) return add_record(last, last.begin, last.end);
  add_record(last, last.begin, first_end);
  add(message, "stream", label(Label::kStream, language), 0, first_end, last_begin);
  add_record(*longest, last_begin, longest->end);
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
      tail(message, records, r, language);
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

/// Nearest rank, over `messages`, of which some did not have it.
StageRow row_of(const std::string& name, std::vector<Time> times, std::size_t messages,
                Time of_all) {
  StageRow row;
  row.name = name;
  row.messages = times.size();
  Time total;
  for (const Time time : times) total += time;
  times.resize(std::max(times.size(), messages));
  std::sort(times.begin(), times.end());
  row.mean = Time::ps(total.ps() / static_cast<std::int64_t>(times.size()));
  row.p50 = ranked(times, 50);
  row.p90 = ranked(times, 90);
  row.p99 = ranked(times, 99);
  row.max = times.back();
  if (of_all != Time())
    row.share = static_cast<double>(total.ps()) / static_cast<double>(of_all.ps());
  return row;
}

StageRow row_of(const std::string& name, const StageSpread& spread) {
  return {name,       spread.messages, spread.mean, spread.p50,
          spread.p90, spread.p99,      spread.max,  spread.share};
}

Waterfall followed(const std::string& workload, const MessageTimes& message, Language language) {
  Waterfall fall{message.work_request, workload, {}};
  for (const StagePiece& piece : message.pieces)
    add(fall, name_of(piece.stage), stage_label(piece.stage, language), 0, piece.begin, piece.end);
  return fall;
}

/// Its stages one behind the other, each once.
Waterfall in_a_row(const std::string& workload, const MessageTimes& message, Language language) {
  Waterfall fall{message.work_request, workload, {}};
  Time begin;
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    add(fall, name_of(stage), stage_label(stage, language), 0, begin, begin + message.stages[i]);
    begin += message.stages[i];
  }
  return fall;
}

Spread spread_of_workload(const WorkloadLatency& latency, Language language) {
  Spread spread{latency.workload, latency.messages, latency.left_out, {}, {}, {}};
  for (std::size_t i = 0; i < kStages; ++i)
    if (latency.stages[i].messages != 0)
      spread.rows.push_back(
          row_of(stage_label(static_cast<Stage>(i), language), latency.stages[i]));
  spread.whole = row_of(label(Label::kWhole, language), latency.whole);
  for (const MessageTimes& message : latency.ranked)
    spread.ranked.push_back(in_a_row(latency.workload, message, language));
  return spread;
}

std::vector<Waterfall> of_timeline(const RunResult& result, Language language) {
  std::set<std::uint64_t> known;
  for (const WorkloadLatency& latency : result.latency)
    for (const MessageTimes& message : latency.shown) known.insert(message.work_request);
  std::vector<Records> messages;
  std::map<std::uint64_t, std::size_t> places;  // by work request
  for (const TimelineRecord& r : result.timeline) {
    if (r.step == 0 || r.plane != "data" || known.count(r.work_request) != 0) continue;
    const auto [place, is_new] = places.emplace(r.work_request, messages.size());
    if (is_new) messages.emplace_back();
    messages[place->second].push_back(r);
  }
  std::vector<Waterfall> all;
  all.reserve(messages.size());
  for (Records& records : messages) all.push_back(waterfall(std::move(records), language));
  return all;
}

/// Over the few that there are.
Spread spread_of_timeline(const std::vector<Waterfall>& messages, Language language) {
  struct Column {
    std::string key;
    std::string name;
    std::vector<Time> times;  ///< of messages that had it
    std::uint64_t last = 0;   ///< number of the last of them, from 1 on
  };
  std::vector<Column> stages;
  std::vector<Time> whole;
  Time of_all;
  for (const Waterfall& message : messages) {
    if (message.stages.empty()) continue;
    whole.push_back(message.stages.back().end - message.stages.front().begin);
    of_all += whole.back();
    for (const WaterfallStage& s : message.stages) {
      auto stage = std::find_if(stages.begin(), stages.end(),
                                [&](const Column& other) { return other.key == s.key; });
      if (stage == stages.end()) stage = stages.insert(stages.end(), {s.key, s.name, {}, 0});
      if (std::exchange(stage->last, whole.size()) != whole.size()) stage->times.emplace_back();
      stage->times.back() += s.takes();
    }
  }
  Spread spread;
  spread.messages = whole.size();
  for (Column& stage : stages)
    spread.rows.push_back(row_of(stage.name, std::move(stage.times), whole.size(), of_all));
  if (!whole.empty())
    spread.whole = row_of(label(Label::kWhole, language), whole, whole.size(), of_all);
  return spread;
}

}  // namespace

std::vector<Waterfall> waterfalls(const RunResult& result, Language language) {
  std::vector<Waterfall> all = of_timeline(result, language);
  for (const WorkloadLatency& latency : result.latency)
    for (const MessageTimes& message : latency.shown)
      all.push_back(followed(latency.workload, message, language));
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const Waterfall& message) { return message.stages.empty(); }),
            all.end());
  std::stable_sort(all.begin(), all.end(), [](const Waterfall& a, const Waterfall& b) {
    return a.stages.front().begin < b.stages.front().begin;
  });
  return all;
}

std::vector<Spread> spreads(const RunResult& result, Language language) {
  std::vector<Spread> all;
  for (const WorkloadLatency& latency : result.latency)
    all.push_back(spread_of_workload(latency, language));
  Spread others = spread_of_timeline(of_timeline(result, language), language);
  if (others.messages != 0) all.push_back(std::move(others));
  return all;
}

}  // namespace rnicsim
