// SPDX-License-Identifier: MIT
// Signals (model/signal) over a run, in equal intervals of simulated time: what the charts of a
// page, the counters of a trace and `--csv` show.
//
// Looked at when an interval is over, before anything later happens: of a level what it is then, of
// a total by how much it has risen meanwhile. Without a given interval it begins with 1 ns and
// becomes twice or five times as long (1, 2, 10, 20, 100 ns, ...) whenever there are more than
// `most_samples`: of a level the highest of the values put together (of some the lowest) is kept,
// rises add up. So a run of any length has some hundreds of samples.
//
// Approximates: a level that rises and falls between two looks is not seen; its metric
// `occupancy.max` has the true maximum. A PCIe transfer, and a frame where it is received, counts
// as a whole: an interval shorter than one (4 KiB take a 100 Gb/s link 333 ns) may show more than
// the link carries.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "model/metrics.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

struct SeriesOptions {
  Time interval{};         ///< zero: fits itself to the length of the run
  std::string glob = "*";  ///< of signals' paths
};

struct TimeSeries {
  struct Column {
    std::string path;
    SignalKind kind = SignalKind::kLevel;  ///< level or total
    Unit unit = Unit::kCount;
    std::uint64_t limit = 0;
    std::string description;
    std::vector<std::uint64_t> values;  ///< one an interval; empty: zero throughout
  };
  Time interval;
  Time end;  ///< of the run, and of the last interval, which may be shorter
  std::vector<Column> columns;

  std::size_t samples() const;
  /// When the i-th interval ends.
  Time at(std::size_t i) const;
  /// As it is shown: levels as they are, rises a second: bytes in bit/s, times as a share.
  double shown(const Column& column, std::size_t i) const;
  static Unit shown_unit(const Column& column);
};

class SeriesRecorder : public TimeObserver {
 public:
  static constexpr std::size_t kMostSamples = 1000;
  /// Numbers that a given interval may come to, over all signals.
  static constexpr std::size_t kMostNumbers = 20000000;

  /// States are left out. `signals` must stay readable until finish(). Throws ConfigError if the
  /// glob matches none.
  SeriesRecorder(const Signals& signals, const SeriesOptions& options);

  Time next_look() const { return next_; }
  /// Throws ConfigError if the run has too many of the given intervals.
  Time before(Time next) override;
  TimeSeries finish(Time end);

 private:
  struct Recorded {
    Signal signal;
    std::uint64_t last = 0;  ///< of a total
    std::vector<std::uint64_t> values;
    std::uint64_t put_together(std::uint64_t a, std::uint64_t b) const;
  };
  void look(Time at);
  void widen();

  std::vector<Recorded> recorded_;
  bool fits_itself_;
  std::size_t most_;
  Time interval_;
  Time next_;
  std::size_t samples_ = 0;
  bool by_five_ = false;  ///< the next widening
};

/// Those of these kinds whose path matches (`*` stands for any characters). Throws ConfigError if
/// none does.
Signals signals_matching(const Signals& signals, std::initializer_list<SignalKind> kinds,
                         const std::string& glob);

}  // namespace rnicsim
