// SPDX-License-Identifier: MIT
#include "scenarios/engine/time_series.h"

#include <fnmatch.h>

#include <algorithm>

#include "model/config_error.h"
#include "model/quantity.h"

namespace rnicsim {
namespace {

constexpr std::size_t kMostCells = 8000000;  // 64 MB
constexpr std::size_t kFewestSamples = 200;

[[noreturn]] void refuse(const char* option, const std::string& expected,
                         const std::string& found) {
  ConfigError::Detail detail;
  detail.file = option;
  detail.expected = expected;
  detail.found = found;
  throw ConfigError(std::move(detail));
}

}  // namespace

std::size_t TimeSeries::samples() const {
  if (interval == Time() || end == Time()) return 0;
  return static_cast<std::size_t>((end.ps() - 1) / interval.ps() + 1);
}

Time TimeSeries::at(std::size_t i) const {
  return std::min(end, interval * static_cast<std::int64_t>(i + 1));
}

double TimeSeries::shown(const Column& column, std::size_t i) const {
  if (column.values.empty()) return 0;
  const auto value = static_cast<double>(column.values[i]);
  if (column.kind != SignalKind::kTotal) return value;
  const Time length = at(i) - interval * static_cast<std::int64_t>(i);
  if (column.unit == Unit::kPicoseconds) return value / static_cast<double>(length.ps());
  return (column.unit == Unit::kBytes ? 8 * value : value) / length.as_s();
}

Unit TimeSeries::shown_unit(const Column& column) {
  if (column.kind != SignalKind::kTotal) return column.unit;
  if (column.unit == Unit::kBytes) return Unit::kBitsPerSecond;
  return column.unit == Unit::kPicoseconds ? Unit::kRatio : Unit::kPerSecond;
}

Signals signals_matching(const Signals& signals, std::initializer_list<SignalKind> kinds,
                         const std::string& glob) {
  Signals matching;
  const Signal* of_kind = nullptr;
  for (const Signal& signal : signals) {
    if (std::find(kinds.begin(), kinds.end(), signal.kind) == kinds.end()) continue;
    if (of_kind == nullptr) of_kind = &signal;
    if (fnmatch(glob.c_str(), signal.path.c_str(), 0) == 0) matching.push_back(signal);
  }
  if (matching.empty())
    refuse("--signals",
           std::string("signals of this run that ") +
               (*kinds.begin() == SignalKind::kState ? "a waveform" : "a series") +
               " has, such as " + in_quotes(of_kind->path),
           in_quotes(glob) + ", which matches none");
  return matching;
}

SeriesRecorder::SeriesRecorder(const Signals& signals, const SeriesOptions& options)
    : fits_itself_(options.interval == Time()),
      interval_(fits_itself_ ? Time::ns(1) : options.interval),
      next_(interval_) {
  for (Signal& signal :
       signals_matching(signals, {SignalKind::kLevel, SignalKind::kTotal}, options.glob))
    recorded_.push_back({std::move(signal), 0, {}});
  most_ = fits_itself_
              ? std::clamp(kMostCells / recorded_.size(), kFewestSamples, kMostSamples) / 10 * 10
              : kMostNumbers / recorded_.size();
  for (Recorded& recorded : recorded_)
    if (recorded.signal.kind == SignalKind::kTotal) recorded.last = recorded.signal.read(Time());
}

Time SeriesRecorder::before(Time next) {
  while (next_ < next) {
    look(next_);
    next_ += interval_;
    if (samples_ == most_ && fits_itself_) widen();
    if (samples_ > most_)
      refuse("--interval",
             "one of which the run has at most " + std::to_string(most_) + " intervals, for " +
                 std::to_string(recorded_.size()) + " signals (--signals chooses fewer)",
             in_quotes(to_text(interval_)));
  }
  return next_;
}

void SeriesRecorder::look(Time at) {
  for (Recorded& recorded : recorded_) {
    const std::uint64_t value = recorded.signal.read(at);
    if (recorded.signal.kind == SignalKind::kLevel) {
      recorded.values.push_back(value);
    } else {
      recorded.values.push_back(value > recorded.last ? value - recorded.last : 0);
      recorded.last = std::max(recorded.last, value);
    }
  }
  ++samples_;
}

std::uint64_t SeriesRecorder::Recorded::put_together(std::uint64_t a, std::uint64_t b) const {
  if (signal.kind == SignalKind::kTotal) return a + b;
  return signal.lowest ? std::min(a, b) : std::max(a, b);
}

void SeriesRecorder::widen() {
  const std::size_t factor = by_five_ ? 5 : 2;
  by_five_ = !by_five_;
  for (Recorded& recorded : recorded_) {
    std::vector<std::uint64_t>& values = recorded.values;
    for (std::size_t to = 0; to < samples_ / factor; ++to) {
      std::uint64_t together = values[to * factor];
      for (std::size_t i = to * factor + 1; i < (to + 1) * factor; ++i)
        together = recorded.put_together(together, values[i]);
      values[to] = together;
    }
    values.resize(samples_ / factor);
  }
  samples_ /= factor;
  interval_ = interval_ * static_cast<std::int64_t>(factor);
  next_ = interval_ * static_cast<std::int64_t>(samples_ + 1);
}

TimeSeries SeriesRecorder::finish(Time end) {
  before(end);
  if (end > interval_ * static_cast<std::int64_t>(samples_)) look(end);
  TimeSeries series;
  series.interval = interval_;
  series.end = end;
  for (Recorded& recorded : recorded_) {
    std::vector<std::uint64_t>& values = recorded.values;
    if (std::all_of(values.begin(), values.end(), [](std::uint64_t v) { return v == 0; }))
      values.clear();
    Signal& signal = recorded.signal;
    series.columns.push_back({signal.path, signal.kind, signal.unit, signal.limit,
                              signal.description, std::move(values)});
  }
  return series;
}

}  // namespace rnicsim
