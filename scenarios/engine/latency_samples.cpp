// SPDX-License-Identifier: MIT
#include "scenarios/engine/latency_samples.h"

#include <algorithm>

namespace rnicsim {
namespace {

/// Of `count` in order, which one no less than `percent` % of them are not above.
std::size_t nearest_rank(std::size_t count, std::size_t percent) {
  return std::max<std::size_t>((count * percent + 99) / 100, 1) - 1;
}

StageSpread spread_of(std::vector<Time> times, Time of_all) {
  StageSpread spread;
  if (times.empty()) return spread;
  std::sort(times.begin(), times.end());
  const auto at = [&](std::size_t percent) { return times[nearest_rank(times.size(), percent)]; };
  Time total;
  for (const Time time : times) {
    total += time;
    if (time != Time()) ++spread.messages;
  }
  spread.mean = Time::ps(total.ps() / static_cast<std::int64_t>(times.size()));
  spread.p50 = at(50);
  spread.p90 = at(90);
  spread.p99 = at(99);
  spread.max = times.back();
  if (of_all != Time())
    spread.share = static_cast<double>(total.ps()) / static_cast<double>(of_all.ps());
  return spread;
}

}  // namespace

void LatencySamples::add(std::uint64_t nth, const MessageTimes& message) {
  if (nth % stride_ != 0) return;
  Sample sample{nth, message};
  sample.message.pieces.clear();
  samples_.push_back(std::move(sample));
  if (samples_.size() <= most_) return;
  stride_ *= 2;
  samples_.erase(std::remove_if(samples_.begin(), samples_.end(),
                                [&](const Sample& s) { return s.nth % stride_ != 0; }),
                 samples_.end());
}

WorkloadLatency LatencySamples::result(const std::string& workload) const {
  WorkloadLatency latency;
  latency.workload = workload;
  latency.messages = samples_.size();
  latency.left_out = begun_ - samples_.size();
  Time all;
  std::vector<Time> times;
  std::vector<const Sample*> order;
  for (const Sample& sample : samples_) {
    times.push_back(sample.message.whole());
    order.push_back(&sample);
    all += times.back();
  }
  latency.whole = spread_of(times, all);
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = samples_[i].message.stages[stage];
    latency.stages[stage] = spread_of(times, all);
  }
  std::stable_sort(order.begin(), order.end(), [](const Sample* a, const Sample* b) {
    return a->message.whole() < b->message.whole();
  });
  if (order.empty()) return latency;
  for (const std::size_t percent : {50, 90, 99, 100})
    latency.ranked.push_back(order[nearest_rank(order.size(), percent)]->message);
  return latency;
}

}  // namespace rnicsim
