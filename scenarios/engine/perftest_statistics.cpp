// SPDX-License-Identifier: MIT
#include "scenarios/engine/perftest_statistics.h"

#include <algorithm>
#include <cmath>

namespace rnicsim {

namespace {

constexpr std::size_t kMostForPeak = 20000;
constexpr std::size_t kTail = 2;  ///< largest latencies left out

/// Seconds a message in the best stretch.
double best_stretch(const PerftestTimes& times) {
  std::vector<std::size_t> marks;
  for (std::size_t i = 0; i < times.completed.size(); ++i)
    if (times.completed[i] != Time::never()) marks.push_back(i);
  double best = (times.completed.back() - times.posted.front()).as_s();
  std::size_t first = 0;
  for (std::size_t i = 0; i < times.posted.size(); ++i) {
    while (marks[first] < i) ++first;
    for (std::size_t m = first; m < marks.size(); ++m)
      best = std::min(best, (times.completed[marks[m]] - times.posted[i]).as_s() /
                                static_cast<double>(marks[m] - i + 1));
  }
  return best;
}

}  // namespace

BandwidthResult bandwidth_of(const PerftestTimes& times, Bytes size) {
  BandwidthResult result;
  const double bits = static_cast<double>(size.count()) * 8;
  result.messages = times.posted.size();
  result.rate =
      static_cast<double>(result.messages) / (times.completed.back() - times.posted.front()).as_s();
  result.average = result.rate * bits;
  if (result.messages <= kMostForPeak) result.peak = bits / best_stretch(times);
  return result;
}

BandwidthResult operator+(const BandwidthResult& a, const BandwidthResult& b) {
  return {a.messages, a.peak + b.peak, a.average + b.average, a.rate + b.rate};
}

void BandwidthResult::report(MetricSink& sink, const std::string& path) const {
  sink.add(path + ".iterations", messages, Unit::kCount, "messages of this size, a side");
  sink.add_real(path + ".bandwidth.peak", peak, Unit::kBitsPerSecond,
                "best stretch between a post and a completion; 0 beyond 20,000 messages");
  sink.add_real(path + ".bandwidth.average", average, Unit::kBitsPerSecond,
                "payload bits between the first post and the last completion");
  sink.add_real(path + ".message_rate", rate, Unit::kPerSecond,
                "messages between the first post and the last completion");
}

LatencyResult latency_of(const PerftestTimes& times, unsigned trips) {
  std::vector<Time> deltas;
  for (std::size_t i = 1; i < times.posted.size(); ++i)
    deltas.push_back((times.posted[i] - times.posted[i - 1]) / trips);
  std::sort(deltas.begin(), deltas.end());
  const std::size_t n = deltas.size() - kTail;
  LatencyResult result;
  result.messages = times.posted.size();
  result.min = deltas.front();
  result.max = deltas[n];
  result.typical = n % 2 == 0 ? (deltas[n / 2] + deltas[n / 2 - 1]) / 2 : deltas[n / 2];
  result.p99 = deltas[divide_up(n * 99, 100)];
  result.p999 = deltas[divide_up(n * 999, 1000)];
  const auto count = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) result.average += static_cast<double>(deltas[i].ps()) / count;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i)
    squares += std::pow(static_cast<double>(deltas[i].ps()) - result.average, 2);
  result.deviation = std::sqrt(squares / count);
  return result;
}

void LatencyResult::report(MetricSink& sink, const std::string& path) const {
  const MetricScope scope(sink, path + ".latency");
  sink.add(path + ".iterations", messages, Unit::kCount, "messages of this size, a side");
  scope.time("min", min, "shortest");
  scope.time("max", max, "longest but for the two longest");
  scope.time("typical", typical, "median");
  scope.time("p99", p99, "99% percentile");
  scope.time("p999", p999, "99.9% percentile");
  sink.add_real(path + ".latency.average", average, Unit::kPicoseconds, "mean");
  sink.add_real(path + ".latency.stdev", deviation, Unit::kPicoseconds, "standard deviation");
}

}  // namespace rnicsim
