// SPDX-License-Identifier: MIT
#include "tools/export/series_csv.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "scenarios/engine/unit_name.h"
#include "tools/export/csv.h"

namespace rnicsim {

std::string series_csv(const TimeSeries& series) {
  std::string text = "end_ps";
  for (const TimeSeries::Column& column : series.columns)
    text += ',' + csv_cell(fmt::format("{} [{}]", column.path,
                                       unit_name(TimeSeries::shown_unit(column))));
  text += '\n';
  for (std::size_t i = 0; i < series.samples(); ++i) {
    text += std::to_string(series.at(i).ps());
    for (const TimeSeries::Column& column : series.columns)
      fmt::format_to(std::back_inserter(text), ",{}", series.shown(column, i));
    text += '\n';
  }
  return text;
}

std::string signals_csv(const TimeSeries& series) {
  std::string text = "path,unit,kind,limit,description\n";
  for (const TimeSeries::Column& column : series.columns)
    text += fmt::format(
        "{},{},{},{},{}\n", csv_cell(column.path), unit_name(TimeSeries::shown_unit(column)),
        column.kind == SignalKind::kLevel ? "level" : "rate",
        column.limit == 0 ? "" : std::to_string(column.limit), csv_cell(column.description));
  return text;
}

std::vector<PauseInterval> pause_intervals(const std::vector<PauseRecord>& pauses) {
  std::vector<PauseInterval> intervals;
  std::map<std::pair<std::string, std::uint8_t>, std::size_t> open;
  for (const PauseRecord& record : pauses) {
    const auto key = std::make_pair(record.where, record.priority);
    const auto at = open.find(key);
    if (record.paused && at == open.end()) {
      open[key] = intervals.size();
      intervals.push_back({record.where, record.priority, record.when});
    } else if (!record.paused && at != open.end()) {
      intervals[at->second].end = record.when;
      open.erase(at);
    }
  }
  return intervals;
}

std::string pauses_csv(const std::vector<PauseRecord>& pauses) {
  std::string text = "port,priority,begin_ps,end_ps\n";
  for (const PauseInterval& pause : pause_intervals(pauses))
    text += fmt::format("{},{},{},{}\n", csv_cell(pause.where), pause.priority, pause.begin.ps(),
                        pause.end == Time::never() ? "" : std::to_string(pause.end.ps()));
  return text;
}

}  // namespace rnicsim
