// SPDX-License-Identifier: MIT
#include "scenarios/engine/time_series.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "model/config_error.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// A level and two totals whose values the test sets, and a state.
struct Bench {
  Bench() {
    const SignalScope scope(signals, "host.A.nic0");
    scope.level(
        "queued", Unit::kCount, "packets", [this] { return queued; }, 8);
    scope.total(
        "bytes", Unit::kBytes, "bytes", [this] { return bytes; }, 100'000'000'000);
    scope.total("paused", Unit::kPicoseconds, "time",
                [this](Time at) { return static_cast<std::uint64_t>((at - paused_since).ps()); });
    scope.state("state", {"idle", "busy"}, "state", [] { return 0; });
  }
  Signals signals;
  std::uint64_t queued = 0;
  std::uint64_t bytes = 0;
  Time paused_since;
};

SeriesOptions every(Time interval) {
  SeriesOptions options;
  options.interval = interval;
  return options;
}

using Values = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a series has what is there when each interval is over, the last one shorter") {
  Bench bench;
  SeriesRecorder recorder(bench.signals, every(10_ns));
  CHECK(recorder.next_look() == 10_ns);
  bench.queued = 3;
  bench.bytes = 100;
  // The next entry is at 10 ns: what it does is not of the first interval's end.
  CHECK(recorder.before(11_ns) == 20_ns);
  bench.queued = 5;
  bench.bytes = 150;
  CHECK(recorder.before(35_ns) == 40_ns);
  bench.queued = 1;
  const TimeSeries series = recorder.finish(36_ns);
  REQUIRE(series.samples() == 4);
  REQUIRE(series.columns.size() == 3);
  CHECK(series.columns[0].values == Values{3, 5, 5, 1});
  CHECK(series.columns[1].values == Values{100, 50, 0, 0});
  CHECK(series.columns[2].values == Values{10'000, 10'000, 10'000, 6'000});
  CHECK(series.at(2) == 30_ns);
  CHECK(series.at(3) == 36_ns);
  CHECK(series.shown(series.columns[0], 1) == 5);
  CHECK(series.shown(series.columns[1], 0) == 100 * 8 / 10e-9);
  CHECK(series.shown(series.columns[2], 3) == 1);
  CHECK(TimeSeries::shown_unit(series.columns[1]) == Unit::kBitsPerSecond);
  CHECK(TimeSeries::shown_unit(series.columns[2]) == Unit::kRatio);
}

TEST_CASE("a look at the very end of an interval is not taken twice") {
  Bench bench;
  SeriesRecorder recorder(bench.signals, every(10_ns));
  bench.queued = 2;
  const TimeSeries series = recorder.finish(20_ns);
  CHECK(series.samples() == 2);
  CHECK(series.columns[0].values == Values{2, 2});
}

TEST_CASE("what stays zero throughout has no values and is shown as zero") {
  Bench bench;
  SeriesRecorder recorder(bench.signals, every(10_ns));
  const TimeSeries series = recorder.finish(25_ns);
  CHECK(series.columns[0].values.empty());
  CHECK(series.shown(series.columns[0], 2) == 0);
}

TEST_CASE("an interval that fits itself keeps the highest level and the sum of what rose") {
  Bench bench;
  SeriesRecorder recorder(bench.signals, {});
  // 1 ns while there are fewer than 1000 samples, then 2, 10 and 20 ns.
  std::uint64_t sum = 0;
  std::uint64_t highest = 0;
  for (std::int64_t at = 1; at <= 9'500; ++at) {
    bench.queued = static_cast<std::uint64_t>(at % 7);
    bench.bytes += static_cast<std::uint64_t>(at % 3);
    sum += static_cast<std::uint64_t>(at % 3);
    if (at == 4'321) bench.queued = 1000;
    highest = std::max(highest, bench.queued);
    recorder.before(Time::ns(at) + Time::ps(1));
  }
  const TimeSeries series = recorder.finish(Time::ns(9'500));
  CHECK(series.interval == 10_ns);
  CHECK(series.samples() == 950);
  const Values& levels = series.columns[0].values;
  const Values& rises = series.columns[1].values;
  REQUIRE(levels.size() == 950);
  CHECK(std::accumulate(rises.begin(), rises.end(), std::uint64_t{0}) == sum);
  // At 1 ns an interval every level was seen; at 10 ns the one at its end.
  CHECK(levels[0] == 6);
  CHECK(*std::max_element(levels.begin(), levels.end()) == 6);
  CHECK(highest == 1000);
}

TEST_CASE("of a glob's signals only those are recorded; one that matches none is refused") {
  Bench bench;
  SeriesOptions options = every(10_ns);
  options.glob = "host.*.bytes";
  bench.bytes = 0;
  SeriesRecorder recorder(bench.signals, options);
  bench.bytes = 4;
  const TimeSeries series = recorder.finish(10_ns);
  REQUIRE(series.columns.size() == 1);
  CHECK(series.columns[0].path == "host.A.nic0.bytes");
  options.glob = "host.B.*";
  CHECK_THROWS_WITH(SeriesRecorder(bench.signals, options),
                    "--signals: expected signals of this run that a series has, such as "
                    "\"host.A.nic0.queued\", found \"host.B.*\", which matches none");
  options.glob = "*.state";  // of which a series has none
  CHECK_THROWS_AS(SeriesRecorder(bench.signals, options), ConfigError);
}

TEST_CASE("of a level of which matters how low it gets the lowest is kept") {
  Signals signals;
  std::uint64_t rate = 0;
  SignalScope(signals, "x").lowest("rate", Unit::kBitsPerSecond, "", [&] { return rate; });
  SeriesRecorder recorder(signals, {});
  for (std::int64_t at = 1; at <= 2'000; ++at) {
    rate = at == 501 ? 7 : 100;
    recorder.before(Time::ns(at) + Time::ps(1));
  }
  const TimeSeries series = recorder.finish(Time::ns(2'000));
  const Values& values = series.columns[0].values;
  CHECK(series.interval == 10_ns);
  CHECK(values[50] == 7);
  CHECK(std::count(values.begin(), values.end(), 100) == 199);
}

TEST_CASE("an interval of which the run has too many is refused as soon as that is known") {
  Bench bench;
  SeriesRecorder recorder(bench.signals, every(Time::ps(1)));  // three signals
  recorder.before(Time::ps(6'000'000));
  CHECK_THROWS_WITH(recorder.before(Time::ps(7'000'000)),
                    "--interval: expected one of which the run has at most 6666666 intervals, for "
                    "3 signals (--signals chooses fewer), found \"1 ps\"");
}
