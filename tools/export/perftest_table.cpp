// SPDX-License-Identifier: MIT
#include "tools/export/perftest_table.h"

#include <fmt/format.h>

#include "scenarios/engine/perftest_plan.h"

namespace rnicsim {
namespace {

/// The metrics of one size.
class Row {
 public:
  Row(const std::map<std::string, Metric>& metrics, std::string path)
      : metrics_(metrics), path_(std::move(path)) {}
  double value(const std::string& name) const {
    const auto at = metrics_.find(path_ + name);
    return at == metrics_.end() ? 0 : at->second.as_real();
  }
  double gbps(const std::string& name) const { return value(".bandwidth." + name) / 1e9; }
  double us(const std::string& name) const { return value(".latency." + name) / 1e6; }
  bool done() const { return metrics_.count(path_ + ".iterations") != 0; }

 private:
  const std::map<std::string, Metric>& metrics_;
  std::string path_;
};

std::string bandwidth_line(Bytes size, const Row& row) {
  return fmt::format("{:<7}    {:<10}     {:<18.2f} {:<18.2f}    {:.6f}", size.count(),
                     row.value(".iterations"), row.gbps("peak"), row.gbps("average"),
                     row.value(".message_rate") / 1e6);
}

std::string latency_line(Bytes size, const Row& row) {
  return fmt::format("{:<7} {:<11} {:<7.2f} {:<7.2f} {:<9.2f} {:<7.2f} {:<7.2f} {:<14.2f} {:.2f}",
                     size.count(), row.value(".iterations"), row.us("min"), row.us("max"),
                     row.us("typical"), row.us("average"), row.us("stdev"), row.us("p99"),
                     row.us("p999"));
}

}  // namespace

std::vector<std::string> perftest_table(const WorkloadSpec& workload,
                                        const std::map<std::string, Metric>& metrics) {
  const bool latency = measures_latency(workload.test);
  std::vector<std::string> lines;
  for (const Bytes size : workload.sizes) {
    const Row row(metrics, "workload." + workload.name + ".size_" + std::to_string(size.count()));
    if (row.done()) lines.push_back(latency ? latency_line(size, row) : bandwidth_line(size, row));
  }
  if (lines.empty()) return lines;
  if (latency)
    lines.insert(lines.begin(),
                 {"#bytes  #iterations t_min   t_max   t_typical t_avg   t_stdev 99% percentile "
                  "99.9% percentile",
                  "                    [usec]  [usec]  [usec]    [usec]  [usec]  [usec]         "
                  "[usec]"});
  else
    lines.insert(
        lines.begin(),
        "#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]    MsgRate[Mpps]");
  return lines;
}

}  // namespace rnicsim
