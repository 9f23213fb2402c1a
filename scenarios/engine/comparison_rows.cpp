// SPDX-License-Identifier: MIT
#include "scenarios/engine/comparison_rows.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "model/quantity.h"
#include "scenarios/engine/comparison_value.h"

namespace rnicsim {
namespace {

constexpr const char* kPayload = "workload.*.transferred + workload.*.flows.bytes";

class UsualRows {
 public:
  explicit UsualRows(const std::vector<const JudgedRun*>& runs) : runs_(runs) {}

  std::vector<ComparisonRowSpec> make() {
    std::set<std::string> workloads;
    for (const JudgedRun* run : runs_)
      for (const WorkloadSpec& workload : run->setup.workload)
        if (workloads.insert(workload.name).second) add_workload(workload.name);
    for (const auto& [scope, title] : sides()) add_side(scope, title);
    return std::move(rows_);
  }

 private:
  void group(std::string title, ComparisonChart chart = ComparisonChart::kBars) {
    group_ = std::move(title);
    chart_ = chart;
  }
  void add(std::string title, std::string metric, const char* per = nullptr) {
    ComparisonRowSpec row;
    row.title = std::move(title);
    row.metric = std::move(metric);
    if (per != nullptr) {
      row.per = per;
      row.unit = "";  // the title says it
    }
    row.group = std::exchange(group_, std::nullopt);
    if (row.group) row.chart = chart_;
    rows_.push_back(std::move(row));
  }

  void add_workload(const std::string& name) {
    const std::string path = "workload." + name + '.';
    group(name);
    add("throughput", path + "goodput");
    add("messages per second", path + "message_rate");
    add("latency, median", path + "latency.p50");
    add("latency, 99th percentile", path + "latency.p99");
    add("throughput of all flows", path + "flows.goodput");
    add("flow completion time, median", path + "flows.fct.p50");
    add("flow completion time, 99th percentile", path + "flows.fct.p99");
    add("limited by", path + "limited_by");
    const std::set<std::uint64_t> sizes = sizes_of(path);
    add_curve(name, "throughput", "bandwidth.average", sizes);
    add_curve(name, "latency, typical", "latency.typical", sizes);
    add_curve(name, "latency, 99th percentile", "latency.p99", sizes);
  }

  /// Of a perftest: its sizes, over all runs.
  std::set<std::uint64_t> sizes_of(const std::string& workload) const {
    std::set<std::uint64_t> sizes;
    const std::string head = workload + "size_";
    for (const JudgedRun* run : runs_) {
      const auto& metrics = run->result.metrics;
      for (auto it = metrics.lower_bound(head); it != metrics.end(); ++it) {
        if (it->first.compare(0, head.size(), head) != 0) break;
        sizes.insert(std::strtoull(it->first.c_str() + head.size(), nullptr, 10));
      }
    }
    return sizes;
  }

  void add_curve(const std::string& workload, const char* title, const char* leaf,
                 const std::set<std::uint64_t>& sizes) {
    group(fmt::format("{}: {}", workload, title), ComparisonChart::kLines);
    for (const std::uint64_t size : sizes)
      add(to_text(Bytes(size)), fmt::format("workload.{}.size_{}.{}", workload, size, leaf));
    group_.reset();
  }

  /// Scope of metrics and heading. Of two hosts that talk, each is a side; more are added up.
  std::vector<std::pair<std::string, std::string>> sides() const {
    std::vector<std::string> hosts;
    for (const JudgedRun* run : runs_) {
      for (const WorkloadSpec& workload : run->setup.workload) {
        if (workload.from.empty() || workload.to.empty()) return {{"host.*", "All hosts"}};
        for (const std::string& host : {workload.from, workload.to})
          if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
      }
    }
    if (hosts.size() != 2) return {{"host.*", "All hosts"}};
    return {{"host." + hosts[0], hosts[0] + ", the initiator"},
            {"host." + hosts[1], hosts[1] + ", the target"}};
  }

  void add_side(const std::string& host, const std::string& title) {
    group(title);
    add("CPU copies", host + ".cpu.copies");
    add("bytes copied by the CPU", host + ".cpu.copied_bytes");
    add("DMA transfers", fmt::format("{0}.nic*.pcie.reads + {0}.nic*.pcie.writes", host));
    add("bytes moved by DMA", fmt::format("{0}.nic*.pcie.read.* + {0}.nic*.pcie.written.*", host));
    add("bytes on the memory bus per payload byte", host + ".memory.bus.total", kPayload);
    add("system calls", host + ".cpu.data.system_calls");
    add("context switches", host + ".cpu.data.context_switches");
    add("interrupts", host + ".interrupts.handled");
    add("CPU time, data plane", host + ".cpu.data.busy");
    add("CPU cycles per payload byte", host + ".cpu.data.*.cycles", kPayload);
    add("CPU time, control plane", host + ".cpu.control.busy");
    const bool by_byte = payload_is_known();
    group(fmt::format("{}: CPU cycles {}, by category", title,
                      by_byte ? "per payload byte" : "of the data plane"),
          ComparisonChart::kStack);
    for (const std::string& category : busy_categories(host))
      add(with_blanks(category), fmt::format("{}.cpu.data.{}.cycles", host, category),
          by_byte ? kPayload : nullptr);
    group_.reset();
  }

  bool payload_is_known() const {
    const MetricSum payload(kPayload);
    return std::any_of(runs_.begin(), runs_.end(), [&](const JudgedRun* run) {
      return payload.value_in(run->result).value_or(0) > 0;
    });
  }

  /// Those with work in any run, sorted by name.
  std::set<std::string> busy_categories(const std::string& host) const {
    std::set<std::string> categories;
    const std::string pattern = host + ".cpu.data.*.cycles";
    for (const JudgedRun* run : runs_)
      for (const auto& [path, metric] : run->result.metrics)
        if (metric.value != 0 && fnmatch(pattern.c_str(), path.c_str(), 0) == 0) {
          const std::string above = path.substr(0, path.rfind('.'));
          categories.insert(above.substr(above.rfind('.') + 1));
        }
    return categories;
  }

  static std::string with_blanks(std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
  }

  const std::vector<const JudgedRun*>& runs_;
  std::vector<ComparisonRowSpec> rows_;
  std::optional<std::string> group_;
  ComparisonChart chart_ = ComparisonChart::kBars;
};

}  // namespace

std::vector<ComparisonRowSpec> usual_rows(const std::vector<const JudgedRun*>& runs) {
  return UsualRows(runs).make();
}

std::vector<ComparisonRowSpec> rows_of_globs(const std::vector<const JudgedRun*>& runs,
                                             const std::vector<std::string>& globs) {
  std::vector<ComparisonRowSpec> rows;
  for (const std::string& glob : globs) {
    std::set<std::string> paths;
    for (const JudgedRun* run : runs)
      for (const auto& [path, metric] : run->result.metrics)
        if (fnmatch(glob.c_str(), path.c_str(), 0) == 0) paths.insert(path);
    if (paths.empty()) {
      ConfigError::Detail detail;
      detail.file = "--metric";
      detail.found = "no metric of these runs matches " + in_quotes(glob);
      throw ConfigError(std::move(detail));
    }
    for (const std::string& path : paths) {
      ComparisonRowSpec row;
      row.title = path;
      row.metric = path;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace rnicsim
