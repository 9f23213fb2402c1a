// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/engine/comparison_value.h"
#include "scenarios/engine/expectations.h"
#include "scenarios/engine/scenario_checks.h"
#include "scenarios/engine/unit_name.h"

namespace rnicsim {
namespace {

struct Measured {
  std::optional<double> value;
  std::string unit;
};

std::string unit_of(Unit unit, const std::optional<Unit>& per) {
  if (!per || *per == Unit::kCount) return unit_name(unit);
  if (*per == unit) return unit_name(Unit::kRatio);
  return fmt::format("{}/{}", unit_name(unit), unit_name(*per));
}

/// Nothing: the run does not know the metric.
std::optional<Measured> measured(const StudyMetricSpec& spec, const RunResult& run) {
  const MetricSum metric(spec.metric);
  Measured made{metric.value_in(run), ""};
  std::optional<Unit> per_unit;
  bool known = metric.known_to(run);
  if (spec.per) {
    const MetricSum per(*spec.per);
    known = known && per.known_to(run);
    const std::optional<double> divisor = per.value_in(run);
    if (made.value && divisor && *divisor != 0)
      *made.value /= *divisor;
    else
      made.value.reset();
    if (known) per_unit = per.unit_in(run);
  }
  if (known) made.unit = unit_of(metric.unit_in(run), per_unit);
  if (!known && !made.value) return std::nullopt;
  return made;
}

}  // namespace

StudyCollector::StudyCollector(const StudyFile& study) : study_(study) {
  result_.name = study.name();
  result_.plan = study.plan();
  for (const StudyMetricSpec& spec : study.plan().spec().metrics)
    result_.metrics.push_back({spec, spec.unit.value_or("")});
  known_.resize(result_.metrics.size());
}

void StudyCollector::add(StudyRow row, const PointOutcome& outcome) {
  row.values.resize(result_.metrics.size());
  if (!outcome.error.empty()) row.error = outcome.error;
  if (outcome.run) {
    bool spoilt = false;
    row.error = unexpected(*outcome.run, spoilt);
    if (!spoilt) add_values(row, *outcome.run);
  }
  if (!row.error.empty()) ++failed_;
  result_.rows.push_back(std::move(row));
}

std::string StudyCollector::unexpected(const RunResult& run, bool& spoilt) const {
  const std::vector<std::string>& expected = study_.expected_violations();
  std::string first;
  for (const Violation& violation : run.violations) {
    if (std::find(expected.begin(), expected.end(), violation.kind) != expected.end()) continue;
    spoilt = spoilt || spoils_run(violation);
    if (first.empty())
      first = fmt::format("{} at {}: {}", violation.kind, violation.where, violation.text);
  }
  return first;
}

void StudyCollector::add_values(StudyRow& row, const RunResult& run) {
  any_run_ = true;
  for (std::size_t m = 0; m < result_.metrics.size(); ++m) {
    StudyMetric& metric = result_.metrics[m];
    try {
      const std::optional<Measured> found = measured(metric.spec, run);
      if (!found) continue;
      row.values[m] = found->value;
      if (found->unit.empty()) continue;
      known_[m] = true;
      if (!metric.spec.unit) metric.unit = found->unit;
    } catch (const ConfigError& error) {
      fail_check(study_.document(), fmt::format("metrics.{}.metric", m), error.detail().found);
    }
  }
}

StudyResult StudyCollector::finish() {
  for (std::size_t m = 0; any_run_ && m < known_.size(); ++m)
    if (!known_[m])
      fail_check(study_.document(), fmt::format("metrics.{}.metric", m),
                 "no run has such a metric: " + in_quotes(result_.metrics[m].spec.metric));
  std::sort(result_.rows.begin(), result_.rows.end(),
            [](const StudyRow& a, const StudyRow& b) { return a.point.index < b.point.index; });
  return std::move(result_);
}

}  // namespace rnicsim
