// SPDX-License-Identifier: MIT
#include "scenarios/engine/activity_log.h"

namespace rnicsim {
namespace {

/// Not a counter: the largest of something.
bool is_maximum(const std::string& path) {
  constexpr const char* kEnds[] = {".max", "_longest"};
  for (const std::string end : kEnds)
    if (path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0)
      return true;
  return false;
}

}  // namespace

ActivityLog::ActivityLog(System& system, std::size_t workloads) : system_(system) {
  if (workloads > 1 && workloads <= kMostWorkloads) looks_.resize(workloads);
}

CoreWork ActivityLog::core_work() {
  CoreWork work;
  for (System::Server& server : system_.servers())
    for (unsigned i = 0; i < server.host->cores(); ++i)
      work[server.name].push_back(server.host->core(i).data_work());
  return work;
}

ActivityLog::Activity ActivityLog::look() {
  Activity activity;
  MetricCollector collector(activity.metrics);
  system_.report(collector);
  activity.cores = core_work();
  return activity;
}

void ActivityLog::sample(std::size_t workload) {
  Looks& looks = looks_[workload];
  (looks.count++ == 0 ? looks.begin : looks.end) = look();
}

ActivityLog::Activity ActivityLog::of(std::size_t workload,
                                      const std::map<std::string, Metric>& totals) {
  Activity activity{totals, {}};
  Looks& looks = looks_[workload];
  for (const auto& [path, metric] : looks.end.metrics) {
    const auto before = looks.begin.metrics.find(path);
    if (!metric.exact || is_maximum(path)) continue;
    Metric& here = activity.metrics[path];
    here = metric;
    if (before != looks.begin.metrics.end()) here.value -= before->second.value;
  }
  activity.cores = std::move(looks.end.cores);
  for (auto& [host, cores] : activity.cores)
    for (std::size_t i = 0; i < cores.size(); ++i) cores[i] -= looks.begin.cores[host][i];
  return activity;
}

}  // namespace rnicsim
