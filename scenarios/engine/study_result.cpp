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
  bool has_metric = false;   ///< the run knows it
  bool has_divisor = false;  ///< the same of what it is divided by, if it is
};

std::string unit_of(Unit unit, const std::optional<Unit>& per) {
  if (!per || *per == Unit::kCount) return unit_name(unit);
  if (*per == unit) return unit_name(Unit::kRatio);
  return fmt::format("{}/{}", unit_name(unit), unit_name(*per));
}

Measured measured(const StudyMetricSpec& spec, const RunResult& run) {
  const MetricSum metric(spec.metric);
  Measured made{metric.value_in(run), "", metric.known_to(run), !spec.per};
  std::optional<Unit> per_unit;
  if (spec.per) {
    const MetricSum per(*spec.per);
    made.has_divisor = per.known_to(run);
    const std::optional<double> divisor = per.value_in(run);
    if (made.value && divisor && *divisor != 0)
      *made.value /= *divisor;
    else
      made.value.reset();
    if (made.has_divisor) per_unit = per.unit_in(run);
  }
  if (made.has_metric && made.has_divisor) made.unit = unit_of(metric.unit_in(run), per_unit);
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
    Known& known = known_[m];
    try {
      const Measured found = measured(metric.spec, run);
      row.values[m] = found.value;
      known.metric = known.metric || found.has_metric;
      known.divisor = known.divisor || found.has_divisor;
      known.value = known.value || found.value.has_value();
      if (!found.has_metric || !found.has_divisor) note_names(run);
      if (!metric.spec.unit && !found.unit.empty()) metric.unit = found.unit;
    } catch (const ConfigError& error) {
      fail_check(study_.document(), fmt::format("metrics.{}.metric", m), error.detail().found);
    }
  }
}

void StudyCollector::note_names(const RunResult& run) {
  for (const auto& [name, metric] : run.metrics) names_.insert(name);
}

void StudyCollector::warn_of(const StudyMetricSpec& spec, const std::string& missing,
                             bool counts_as_zero) {
  std::string text = fmt::format("{}: no point has the metric {}", spec.name, in_quotes(missing));
  if (counts_as_zero) text += ", which counts as 0";
  const bool is_one_name = missing.find_first_of("*+") == std::string::npos;
  const std::string nearest =
      is_one_name ? nearest_of(missing, {names_.begin(), names_.end()}) : "";
  if (!nearest.empty()) text += fmt::format("; did you mean {}?", in_quotes(nearest));
  result_.warnings.push_back(std::move(text));
}

StudyResult StudyCollector::finish() {
  for (std::size_t m = 0; any_run_ && m < known_.size(); ++m) {
    const StudyMetricSpec& spec = result_.metrics[m].spec;
    if (!known_[m].metric) warn_of(spec, spec.metric, known_[m].value);
    if (!known_[m].divisor) warn_of(spec, *spec.per, false);
  }
  std::sort(result_.rows.begin(), result_.rows.end(),
            [](const StudyRow& a, const StudyRow& b) { return a.point.index < b.point.index; });
  return std::move(result_);
}

}  // namespace rnicsim
