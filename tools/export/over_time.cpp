// SPDX-License-Identifier: MIT
#include "tools/export/over_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/engine/unit_name.h"
#include "tools/export/series_csv.h"

namespace rnicsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMost = 40;            // signals of a group, and paused priorities of ports
constexpr std::size_t kMostIntervals = 500;  // of one of these

struct Curve {
  const TimeSeries::Column* column = nullptr;
  std::vector<double> values;
  double peak = 0;
};

struct Group {
  const char* key;
  Unit unit;
  std::vector<Curve> curves;
};

/// Four digits are what a screen shows.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

void add_curve(Group& group, const TimeSeries& series, const TimeSeries::Column& column,
               double part_of = 1) {
  Curve curve{&column, {}, 0};
  for (std::size_t i = 0; i < series.samples(); ++i)
    curve.values.push_back(rounded(series.shown(column, i) / part_of));
  curve.peak = *std::max_element(curve.values.begin(), curve.values.end());
  group.curves.push_back(std::move(curve));
}

const char* group_of(const TimeSeries::Column& column) {
  switch (TimeSeries::shown_unit(column)) {
    case Unit::kBitsPerSecond:
      if (column.path.find(".congestion_control.") != std::string::npos) return "congestion";
      return column.path.find(".port") != std::string::npos ? "throughput" : "buses";
    case Unit::kRatio:
      return "utilisation";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPerSecond:
      return "rates";
    default:
      return "entries";
  }
}

std::vector<Group> groups_of(const TimeSeries& series) {
  std::vector<Group> groups = {{"throughput", Unit::kBitsPerSecond, {}},
                               {"congestion", Unit::kBitsPerSecond, {}},
                               {"buses", Unit::kBitsPerSecond, {}},
                               {"utilisation", Unit::kRatio, {}},
                               {"bytes", Unit::kBytes, {}},
                               {"entries", Unit::kCount, {}},
                               {"rates", Unit::kPerSecond, {}}};
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
    std::stable_sort(group.curves.begin(), group.curves.end(),
                     [](const Curve& a, const Curve& b) { return a.peak > b.peak; });
  return groups;
}

Json group_to_json(const Group& group) {
  Json columns = Json::array();
  for (const Curve& curve : group.curves) {
    if (columns.size() == kMost) break;
    Json column = {{"path", curve.column->path},
                   {"description", curve.column->description},
                   {"values", curve.values}};
    if (curve.column->limit != 0 && group.unit != Unit::kRatio)
      column["limit"] = curve.column->limit;
    columns.push_back(std::move(column));
  }
  return {{"key", group.key},
          {"unit", unit_name(group.unit)},
          {"left_out", group.curves.size() - columns.size()},
          {"columns", std::move(columns)}};
}

Json pauses_to_json(const RunResult& result) {
  struct Paused {
    std::string where;
    Time whole;
    std::vector<PauseInterval> intervals;
  };
  std::map<std::string, Paused> by_port;
  for (PauseInterval pause : pause_intervals(result.pauses)) {
    pause.end = std::min(pause.end, result.end);
    Paused& port = by_port[fmt::format("{} prio {}", pause.where, pause.priority)];
    port.whole += pause.end - pause.begin;
    port.intervals.push_back(std::move(pause));
  }
  std::vector<Paused> sorted;
  for (auto& [where, paused] : by_port) {
    paused.where = where;
    sorted.push_back(std::move(paused));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Paused& a, const Paused& b) { return a.whole > b.whole; });
  if (sorted.size() > kMost) sorted.resize(kMost);
  Json ports = Json::array();
  for (const Paused& port : sorted) {
    Json intervals = Json::array();
    for (const PauseInterval& pause : port.intervals) {
      if (intervals.size() == kMostIntervals) break;
      intervals.push_back({pause.begin.ps(), pause.end.ps()});
    }
    const std::size_t left_out = port.intervals.size() - intervals.size();
    ports.push_back({{"where", port.where},
                     {"whole_ps", port.whole.ps()},
                     {"left_out", left_out},
                     {"intervals", std::move(intervals)}});
  }
  return ports;
}

}  // namespace

Json over_time(const RunResult& result) {
  Json groups = Json::array();
  if (result.series.samples() != 0)
    for (const Group& group : groups_of(result.series))
      if (!group.curves.empty()) groups.push_back(group_to_json(group));
  return {{"interval_ps", result.series.interval.ps()},
          {"end_ps", result.end.ps()},
          {"groups", std::move(groups)},
          {"pauses", pauses_to_json(result)}};
}

}  // namespace rnicsim
