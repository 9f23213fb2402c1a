// SPDX-License-Identifier: MIT
#include "tools/export/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "scenarios/engine/result_document.h"
#include "scenarios/engine/unit_name.h"
#include "tools/export/labels.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWire = 1;  // of the processes; hosts follow
constexpr const char* kWireName = "wire";

class Trace {
 public:
  std::string write(const JudgedRun& run) {
    name_process(kWire, kWireName);
    for (const HostSpec& host : run.setup.hosts)
      for (const std::string& name : host.machine_names()) process_of(name);
    std::vector<const TimelineRecord*> records;
    for (const TimelineRecord& r : run.result.timeline) records.push_back(&r);
    std::stable_sort(records.begin(), records.end(),
                     [](const auto* a, const auto* b) { return a->begin < b->begin; });
    std::map<std::uint64_t, std::vector<std::size_t>> messages;  // slices of each
    for (const TimelineRecord* r : records) {
      if (r->work_request != 0) messages[r->work_request].push_back(events_.size());
      slice(*r);
    }
    int id = 0;
    for (const auto& [work_request, slices] : messages) link(slices, ++id);
    count_pauses(run.result.pauses);
    count_signals(run.result.series);
    Json all = std::move(names_);
    for (Json& event : events_) all.push_back(std::move(event));
    return to_lines({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(all)}});
  }

 private:
  static double us(Time t) { return t.as_us(); }

  void name_process(int process, const std::string& name) {
    names_.push_back(
        {{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", name}}}});
    names_.push_back({{"name", "process_sort_index"},
                      {"ph", "M"},
                      {"pid", process},
                      {"args", {{"sort_index", process}}}});
  }

  int process_of(const std::string& host) {
    const auto [at, is_new] =
        processes_.emplace(host, kWire + 1 + static_cast<int>(processes_.size()));
    if (is_new) name_process(at->second, host);
    return at->second;
  }

  /// The first track of the block on which nothing else is under way.
  int track_of(int process, const TimelineRecord& r) {
    const std::string block = fmt::format("{} {}", r.lane, r.block);
    for (int copy = 1;; ++copy) {
      const auto [at, is_new] =
          tracks_.try_emplace(std::make_tuple(process, block, copy),
                              Track{static_cast<int>(tracks_.size()) + 1, r.end});
      Track& track = at->second;
      if (is_new) {
        names_.push_back(
            {{"name", "thread_name"},
             {"ph", "M"},
             {"pid", process},
             {"tid", track.id},
             {"args", {{"name", copy == 1 ? block : fmt::format("{} ({})", block, copy)}}}});
        return track.id;
      }
      if (track.busy_until > r.begin) continue;
      track.busy_until = r.end;
      return track.id;
    }
  }

  void slice(const TimelineRecord& r) {
    const int process = r.lane == kWireName ? kWire : process_of(r.host);
    const int track = track_of(process, r);
    Json args = {{"step", r.step}, {"text", r.text}, {"bytes", r.bytes}, {"count", r.count}};
    if (r.lane == kWireName) args["way"] = r.host;
    events_.push_back({{"name", part_label(r, Language::kEnglish)},
                       {"cat", r.step == 0 ? "fault" : r.plane},
                       {"ph", "X"},
                       {"ts", us(r.begin)},
                       {"dur", us(r.end - r.begin)},
                       {"pid", process},
                       {"tid", track},
                       {"args", std::move(args)}});
  }

  void link(const std::vector<std::size_t>& slices, int id) {
    for (std::size_t i = 0; i < slices.size() && slices.size() > 1; ++i) {
      const bool last = i + 1 == slices.size();
      const Json& slice = events_[slices[i]];
      Json flow = {
          {"name", "message"},  {"cat", "message"},  {"ph", i == 0 ? "s" : last ? "f" : "t"},
          {"id", id},           {"ts", slice["ts"]}, {"pid", slice["pid"]},
          {"tid", slice["tid"]}};
      if (last) flow["bp"] = "e";
      events_.push_back(std::move(flow));
    }
  }

  void count_pauses(const std::vector<PauseRecord>& pauses) {
    std::int64_t stopped = 0;
    for (const PauseRecord& pause : pauses) {
      stopped += pause.paused ? 1 : -1;
      events_.push_back({{"name", "stopped ports and priorities"},
                         {"ph", "C"},
                         {"ts", us(pause.when)},
                         {"pid", kWire},
                         {"args", {{"stopped", stopped}}}});
    }
  }

  /// A counter has the value of an interval from its begin on. What stayed zero has none.
  void count_signals(const TimeSeries& series) {
    for (const TimeSeries::Column& column : series.columns) {
      if (column.values.empty()) continue;
      const auto [process, name] = place_of(column.path);
      const std::string title =
          fmt::format("{} [{}]", name, unit_name(TimeSeries::shown_unit(column)));
      double before = -1;
      for (std::size_t i = 0; i < series.samples(); ++i) {
        const double value = series.shown(column, i);
        if (value == before) continue;
        before = value;
        events_.push_back({{"name", title},
                           {"ph", "C"},
                           {"ts", us(series.interval * static_cast<std::int64_t>(i))},
                           {"pid", process},
                           {"args", {{"value", value}}}});
      }
    }
  }

  /// Of "host.A.nic0.port.tx_bytes" the process of A and the rest; of "fabric." that of the wire.
  std::pair<int, std::string> place_of(const std::string& path) {
    const std::size_t first = path.find('.');
    if (path.compare(0, first, "host") != 0) return {kWire, path};
    const std::size_t second = path.find('.', first + 1);
    return {process_of(path.substr(first + 1, second - first - 1)), path.substr(second + 1)};
  }

  struct Track {
    int id;
    Time busy_until;
  };
  std::map<std::string, int> processes_;
  std::map<std::tuple<int, std::string, int>, Track> tracks_;
  Json names_ = Json::array();
  std::vector<Json> events_;
};

}  // namespace

std::string perfetto_trace(const JudgedRun& run) { return Trace().write(run); }

}  // namespace rnicsim
