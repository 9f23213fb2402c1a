// SPDX-License-Identifier: MIT
// What blocks did while a workload's messages were under way: their counters when it begins to post
// and when its last message has ended, subtracted. Without it, what other workloads did at other
// times would count as well.
//
// Two looks at every metric of the system a workload: of more than kMostWorkloads, as of one alone,
// the counters of the whole run are taken.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/engine/bottleneck.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/system.h"

namespace rnicsim {

/// Puts metrics into a map.
class MetricCollector : public MetricSink {
 public:
  explicit MetricCollector(std::map<std::string, Metric>& metrics) : metrics_(metrics) {}
  void add(const std::string& path, std::uint64_t value, Unit unit,
           const char* description) override {
    metrics_[path] = {true, value, 0, unit, description};
  }
  void add_real(const std::string& path, double value, Unit unit,
                const char* description) override {
    metrics_[path] = {false, 0, value, unit, description};
  }

 private:
  std::map<std::string, Metric>& metrics_;
};

class ActivityLog {
 public:
  static constexpr std::size_t kMostWorkloads = 64;

  ActivityLog(System& system, std::size_t workloads);

  /// Whether sample() is to be called.
  bool is_needed() const { return !looks_.empty(); }
  /// The first of a workload is its begin, the last its end.
  void sample(std::size_t workload);

  struct Activity {
    std::map<std::string, Metric> metrics;
    CoreWork cores;
  };
  /// It has been seen at its begin and at its end.
  bool has_seen(std::size_t workload) const { return is_needed() && looks_[workload].count >= 2; }
  /// Replaces, in `totals` of the whole run, what counts up by what it counted meanwhile.
  /// REQUIRES: has_seen(workload).
  Activity of(std::size_t workload, const std::map<std::string, Metric>& totals);
  /// Of the whole run.
  CoreWork core_work();

 private:
  struct Looks {
    Activity begin, end;
    unsigned count = 0;
  };
  Activity look();

  System& system_;
  std::vector<Looks> looks_;
};

}  // namespace rnicsim
