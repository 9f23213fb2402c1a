// SPDX-License-Identifier: MIT
#include "tools/export/over_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/engine/unit_name.h"
#include "tools/export/series_csv.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNumbers = 400'000;  // of all curves
constexpr std::size_t kMostPorts = 40;         // priorities of ports that were paused
constexpr std::size_t kMostIntervals = 500;    // of one of these
constexpr std::int64_t kLeastGaps = 1000;  // of the run, between intervals that are put together

struct Curve {
  const TimeSeries::Column* column = nullptr;
  double part_of = 1;  ///< what its values are divided by
  double peak = 0;     ///< of groups with the lowest first: the lowest
};

struct Group {
  const char* key;
  Unit unit;
  bool lowest_first = false;
  std::vector<Curve> curves = {};
  std::size_t shown = 0;
};

/// Four digits are what a screen shows.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

/// Of limits (lowest_first) zero is none.
void add_curve(Group& group, const TimeSeries& series, const TimeSeries::Column& column,
               double part_of = 1) {
  Curve curve{&column, part_of, 0};
  for (std::size_t i = 0; i < series.samples(); ++i) {
    const double value = series.shown(column, i) / part_of;
    if (!group.lowest_first)
      curve.peak = std::max(curve.peak, value);
    else if (value != 0 && (curve.peak == 0 || value < curve.peak))
      curve.peak = value;
  }
  group.curves.push_back(curve);
}

const char* group_of(const TimeSeries::Column& column) {
  const bool is_limit = column.path.find(".congestion_control.") != std::string::npos;
  switch (TimeSeries::shown_unit(column)) {
    case Unit::kBitsPerSecond:
      if (is_limit) return "congestion";
      return column.path.find(".port") != std::string::npos ? "throughput" : "buses";
    case Unit::kRatio:
      return "utilisation";
    case Unit::kBytes:
      return is_limit ? "windows" : "bytes";
    case Unit::kPerSecond:
      return "rates";
    default:
      return "entries";
  }
}

std::vector<Group> groups_of(const TimeSeries& series) {
  std::vector<Group> groups = {{"throughput", Unit::kBitsPerSecond},
                               {"congestion", Unit::kBitsPerSecond, true},
                               {"windows", Unit::kBytes, true},
                               {"buses", Unit::kBitsPerSecond},
                               {"utilisation", Unit::kRatio},
                               {"bytes", Unit::kBytes},
                               {"entries", Unit::kCount},
                               {"rates", Unit::kPerSecond}};
  for (const TimeSeries::Column& column : series.columns) {
    if (column.values.empty()) continue;
    const std::string key = group_of(column);
    for (Group& group : groups) {
      if (group.key == key) add_curve(group, series, column);
      if (group.unit == Unit::kRatio && group.key != key && column.limit != 0 &&
          column.kind == SignalKind::kTotal)
        add_curve(group, series, column, static_cast<double>(column.limit));
    }
  }
  for (Group& group : groups)
    std::stable_sort(group.curves.begin(), group.curves.end(), [&](const Curve& a, const Curve& b) {
      return group.lowest_first ? a.peak < b.peak : a.peak > b.peak;
    });
  return groups;
}

/// The first of every group, the second of every group, and so on, as many as there is room for.
void choose_shown(std::vector<Group>& groups, std::size_t room) {
  for (bool found = true; found;) {
    found = false;
    for (Group& group : groups) {
      if (group.shown == group.curves.size()) continue;
      if (room-- == 0) return;
      ++group.shown;
      found = true;
    }
  }
}

Json group_to_json(const Group& group, const TimeSeries& series, Language language) {
  Json columns = Json::array();
  for (std::size_t nth = 0; nth < group.shown; ++nth) {
    const Curve& curve = group.curves[nth];
    Json values = Json::array();
    for (std::size_t i = 0; i < series.samples(); ++i)
      values.push_back(rounded(series.shown(*curve.column, i) / curve.part_of));
    columns.push_back({{"path", curve.column->path},
                       {"description", description_in(curve.column->description, language)},
                       {"values", std::move(values)}});
  }
  return {{"key", group.key},
          {"unit", unit_name(group.unit)},
          {"left_out", group.curves.size() - columns.size()},
          {"columns", std::move(columns)}};
}

Json groups_to_json(const TimeSeries& series, Language language) {
  Json json = Json::array();
  if (series.samples() == 0) return json;
  std::vector<Group> groups = groups_of(series);
  choose_shown(groups, kMostNumbers / series.samples());
  for (const Group& group : groups)
    if (!group.curves.empty()) json.push_back(group_to_json(group, series, language));
  return json;
}

/// One pause, or several that lie close to each other.
struct PauseSpan {
  Time begin;
  Time end;
  std::uint64_t pauses = 1;
};

/// A port and priority, all its pauses.
struct Paused {
  std::string where;
  Time whole;
  std::vector<PauseSpan> spans;
};

/// Puts together what lies closer than `gap`; spans are in order.
void put_together(std::vector<PauseSpan>& spans, Time gap) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].begin - spans[last].end >= gap) {
      spans[++last] = spans[i];
      continue;
    }
    spans[last].end = spans[i].end;
    spans[last].pauses += spans[i].pauses;
  }
  spans.resize(last + 1);
}

std::vector<Paused> pauses_by_port(const RunResult& result) {
  std::map<std::string, Paused> by_port;
  for (const PauseInterval& pause : pause_intervals(result.pauses)) {
    const Time end = std::min(pause.end, result.end);
    Paused& port = by_port[fmt::format("{} prio {}", pause.where, pause.priority)];
    port.whole += end - pause.begin;
    port.spans.push_back({pause.begin, end});
  }
  std::vector<Paused> sorted;
  for (auto& [where, paused] : by_port) {
    paused.where = where;
    sorted.push_back(std::move(paused));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Paused& a, const Paused& b) { return a.whole > b.whole; });
  return sorted;
}

Json pauses_to_json(const RunResult& result) {
  std::vector<Paused> ports = pauses_by_port(result);
  const std::size_t shown = std::min(ports.size(), kMostPorts);
  Json json = {{"left_out", ports.size() - shown}, {"ports", Json::array()}};
  ports.resize(shown);
  for (Paused& port : ports) {
    for (Time gap = std::max(Time::ps(1), Time::ps(result.end.ps() / kLeastGaps));
         port.spans.size() > kMostIntervals; gap += gap)
      put_together(port.spans, gap);
    Json intervals = Json::array();
    for (const PauseSpan& span : port.spans)
      intervals.push_back({span.begin.ps(), span.end.ps(), span.pauses});
    json["ports"].push_back({{"where", port.where},
                             {"whole_ps", port.whole.ps()},
                             {"intervals", std::move(intervals)}});
  }
  return json;
}

}  // namespace

Json over_time(const RunResult& result, Language language) {
  return {{"interval_ps", result.series.interval.ps()},
          {"end_ps", result.end.ps()},
          {"groups", groups_to_json(result.series, language)},
          {"pauses", pauses_to_json(result)}};
}

}  // namespace rnicsim
