// SPDX-License-Identifier: MIT
#include "scenarios/engine/expectations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/json_path.h"
#include "scenarios/engine/unit_name.h"

namespace rnicsim {
namespace {

using Relation = ExpectationSpec::Relation;

bool holds(const ExpectationSpec& spec, double measured) {
  if (!std::isfinite(measured)) return false;
  switch (spec.relation) {
    case Relation::kEquals: {
      // A hair more than the deviation: the values are doubles of decimal texts.
      const double rounding = 1e-12 * std::max(std::abs(measured), std::abs(spec.low.value));
      return std::abs(measured - spec.low.value) <= spec.allowed_deviation + rounding;
    }
    case Relation::kAtLeast:
      return measured >= spec.low.value;
    case Relation::kAtMost:
      return measured <= spec.low.value;
    case Relation::kBetween:
      break;
  }
  return measured >= spec.low.value && measured <= spec.high.value;
}

/// A bare number goes with every unit, a percentage with ratios and counts.
bool comparable(Unit expected, Unit metric) {
  return expected == metric || expected == Unit::kCount ||
         (expected == Unit::kRatio && metric == Unit::kCount);
}

class Judge {
 public:
  Judge(const ScenarioFile& file, std::vector<JudgedRun>& runs) : file_(file), runs_(runs) {}

  void run() {
    const std::vector<ExpectationSpec>& specs = file_.base.expect;
    for (const ExpectationSpec& spec : specs)
      if (spec.violation)
        for (JudgedRun& run : runs_)
          if (concerns(spec, run)) run.expected_violations.push_back(*spec.violation);
    for (JudgedRun& run : runs_) run.judged = bad_end(run) == nullptr;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const std::string path = "expect." + std::to_string(i);
      if (specs[i].violation)
        judge_violation(specs[i]);
      else
        judge_metric(specs[i], path);
    }
  }

 private:
  /// Of a violation: whether it is expected in this run.
  static bool concerns(const ExpectationSpec& spec, const JudgedRun& run) {
    return !spec.variant || *spec.variant == run.setup.variant;
  }

  /// Null: it came to a proper end, or to the one that was expected.
  static const Violation* bad_end(const JudgedRun& run) {
    const auto bad = [&](const Violation& violation) {
      return spoils_run(violation) && !run.expects(violation);
    };
    const std::vector<Violation>& all = run.result.violations;
    const auto found = std::find_if(all.begin(), all.end(), bad);
    return found == all.end() ? nullptr : &*found;
  }

  static void leave_unjudged(JudgedRun& run, const JudgedRun& bad, const ExpectationSpec& spec) {
    const Violation& end = *bad_end(bad);
    run.unjudged.push_back({spec, end.kind + " at " + end.where + ": " + end.text});
  }

  JudgedRun* run_of(const std::string& variant) {
    const auto it = std::find_if(runs_.begin(), runs_.end(), [&](const JudgedRun& run) {
      return run.setup.variant == variant;
    });
    return it == runs_.end() ? nullptr : &*it;
  }

  ConfigError error(const std::string& path, std::string expected, std::string found,
                    std::string nearest = {}) const {
    const JsonNode& place = nearest_node(file_.document, path);
    ConfigError::Detail detail;
    detail.file = place.file();
    detail.line = place.line();
    detail.path = path;
    detail.expected = std::move(expected);
    detail.found = std::move(found);
    detail.nearest = std::move(nearest);
    return ConfigError(std::move(detail));
  }

  /// Null: the run ended badly, before there was anything to measure.
  const Metric* metric(const JudgedRun& run, const std::string& name, const std::string& path) {
    const auto it = run.result.metrics.find(name);
    if (it != run.result.metrics.end()) return &it->second;
    if (!run.result.violations.empty()) return nullptr;
    std::vector<std::string> known;
    for (const auto& [metric_path, unused] : run.result.metrics) known.push_back(metric_path);
    throw error(path, "", "unknown metric " + in_quotes(name), nearest_of(name, known));
  }

  void judge_metric(const ExpectationSpec& spec, const std::string& path) {
    JudgedRun* run = run_of(spec.measured.variant);
    if (run == nullptr) return;
    if (!run->judged) return leave_unjudged(*run, *run, spec);
    ExpectationResult result;
    result.spec = spec;
    const Metric* measured = metric(*run, spec.measured.path, path + ".metric");
    if (measured == nullptr) {
      fail_unmeasured(*run, std::move(result));
      return;
    }
    result.measured = measured->as_real();
    result.unit = measured->unit;
    if (spec.ratio_to || spec.difference_to) {
      const JudgedRun* other = run_of(spec.reference.variant);
      if (other == nullptr) return;
      if (!other->judged) return leave_unjudged(*run, *other, spec);
      const Metric* reference = metric(*other, spec.reference.path,
                                       path + (spec.ratio_to ? ".ratio_to" : ".difference_to"));
      if (reference == nullptr) {
        fail_unmeasured(*run, std::move(result));
        return;
      }
      relate(result, *reference);
    }
    if (!spec.ratio_to && !comparable(spec.low.unit, measured->unit)) {
      throw error(path,
                  "a value to compare with a metric in " + std::string(unit_name(result.unit)),
                  in_quotes(spec.low.text));
    }
    result.passed = holds(spec, result.measured);
    run->expectations.push_back(std::move(result));
  }

  static void relate(ExpectationResult& result, const Metric& reference) {
    if (result.spec.difference_to) {
      result.measured -= reference.as_real();
    } else {
      result.measured /= reference.as_real();  // not finite if it is 0, and then failed
      result.unit = Unit::kRatio;
    }
  }

  static void fail_unmeasured(JudgedRun& run, ExpectationResult result) {
    result.measured = std::numeric_limits<double>::quiet_NaN();
    run.expectations.push_back(std::move(result));
  }

  void judge_violation(const ExpectationSpec& spec) {
    ExpectationResult result;
    result.spec = spec;
    JudgedRun* place = spec.variant ? run_of(*spec.variant) : &runs_.front();
    if (place == nullptr) return;
    for (const JudgedRun& run : runs_) {
      if (!concerns(spec, run)) continue;
      for (const Violation& violation : run.result.violations)
        if (violation.kind == *spec.violation) result.measured += 1;
    }
    result.passed = holds(spec, result.measured);
    place->expectations.push_back(std::move(result));
  }

  const ScenarioFile& file_;
  std::vector<JudgedRun>& runs_;
};

}  // namespace

bool spoils_run(const Violation& violation) {
  return violation.kind == "deadlock" || violation.kind == "unfinished_flow" ||
         violation.kind == "lossless_drop" || violation.kind == "dma_error" ||
         violation.kind == "fault";
}

bool JudgedRun::expects(const Violation& violation) const {
  return std::find(expected_violations.begin(), expected_violations.end(), violation.kind) !=
         expected_violations.end();
}

bool JudgedRun::passed() const {
  return std::all_of(expectations.begin(), expectations.end(),
                     [](const ExpectationResult& e) { return e.accepted(); }) &&
         std::all_of(result.violations.begin(), result.violations.end(),
                     [this](const Violation& v) { return expects(v); });
}

std::vector<JudgedRun> judge(const ScenarioFile& file, std::vector<RunResult> results) {
  std::vector<JudgedRun> runs;
  for (std::size_t i = 0; i < results.size(); ++i)
    runs.push_back({file.name, file.runs[i], std::move(results[i]), {}, {}, {}, true});
  if (!runs.empty()) Judge(file, runs).run();
  return runs;
}

}  // namespace rnicsim
