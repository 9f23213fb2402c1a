// SPDX-License-Identifier: MIT
// What one cell of a comparison shows, read out of one run: metrics added up, or a setting.
//
// Names of metrics are paths, several joined by " + "; `*` stands for any characters but dots. What
// matches is added up, so all of it must be of one unit, and countable: percentiles and the like
// cannot be added.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/json_document.h"
#include "scenarios/engine/run_result.h"

namespace rnicsim {

class MetricSum {
 public:
  explicit MetricSum(const std::string& names);

  /// A run does not know what none of the paths matches.
  bool known_to(const RunResult& run) const;
  /// REQUIRES: the run knows it.
  Unit unit_in(const RunResult& run) const;
  /// Of a run that does not know it: 0 if it has the block or workload and others count such things
  /// there; else nothing. Throws ConfigError without a place if what matches cannot be added.
  std::optional<double> value_in(const RunResult& run) const;

 private:
  std::vector<const Metric*> matches_in(const RunResult& run) const;

  std::vector<std::string> paths_;
};

/// A metric that a run without such events does not have to have: absent, it is 0.
bool counts_things(const std::string& path);

/// The value at `path` in a configuration as dump_config() gives it; list elements by index or
/// name, `nic` for the first of `nics`, `*` for all. Different values
/// are joined by commas; what is off by default and not set is nothing.
std::optional<std::string> setting_at(const JsonNode& configuration, const std::string& path);

}  // namespace rnicsim
