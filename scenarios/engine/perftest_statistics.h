// SPDX-License-Identifier: MIT
// What perftest makes of the times at which a program posted and saw completions.
//
// Bandwidth: the average runs from the first post to the last completion seen; the peak is the best
// of all stretches from the post of one message to the completion of the same or a later one, and
// is left out beyond 20,000 messages.
// Latency: the time from each post to the next one, divided by the trips that it took, without the
// two largest; typical is the median. Percentiles are the values perftest prints: that at
// ceil(n x 0.99) of the sorted list, counted from zero.
#pragma once

#include <cstdint>
#include <vector>

#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

/// One side's times for one size.
struct PerftestTimes {
  std::vector<Time> posted;     ///< in the order of posting
  std::vector<Time> completed;  ///< of the nth; never() if its completion was not asked for
};

struct BandwidthResult {
  std::uint64_t messages = 0;
  double peak = 0;     ///< b/s; 0: left out
  double average = 0;  ///< b/s
  double rate = 0;     ///< messages/s
  void report(MetricSink& sink, const std::string& path) const;
};
/// REQUIRES: the last message has its completion.
BandwidthResult bandwidth_of(const PerftestTimes& times, Bytes size);
/// Of both sides of a bidirectional run.
BandwidthResult operator+(const BandwidthResult& a, const BandwidthResult& b);

struct LatencyResult {
  std::uint64_t messages = 0;
  Time min;
  Time max;
  Time typical;
  Time p99;
  Time p999;
  double average = 0;    ///< ps
  double deviation = 0;  ///< ps, standard
  void report(MetricSink& sink, const std::string& path) const;
};
/// REQUIRES: at least five posts.
LatencyResult latency_of(const PerftestTimes& times, unsigned trips);

}  // namespace rnicsim
