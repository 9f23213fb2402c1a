// SPDX-License-Identifier: MIT
#include "tools/rnicsim/study_work.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "model/config_error.h"
#include "scenarios/engine/signal_gate.h"
#include "scenarios/engine/simulation.h"
#include "scenarios/engine/study_runner.h"

namespace rnicsim {
namespace {

constexpr int kBriefMilliseconds = 100;

/// What nobody asks a point for later, and what would be long.
RunResult simulate_briefly(const Scenario& scenario, const SimulationHooks& hooks) {
  RunResult result = simulate(scenario, hooks);
  result.timeline.clear();
  result.flows.clear();
  for (auto& [path, metric] : result.metrics) metric.description.clear();
  return result;
}

}  // namespace

StudyWork::StudyWork(StudyFile& study, const PointStore& store,
                     const std::vector<std::size_t>& points, const Options& options,
                     StudyProgressLine& line)
    : study_(study), store_(store), options_(options), line_(line), collector_(study) {
  line_.begin("reading the study");
  for (std::size_t i = 0; i < points.size(); ++i) {
    show("reading the study", i, points.size());
    add_point(points[i]);
  }
  if (keys_.empty() && errors_.size() == 1) std::rethrow_exception(first_unreadable_);
  leave_others_share();
}

void StudyWork::add_point(std::size_t index) {
  StudyRow row;
  row.point = study_.plan().point(index);
  try {
    const Scenario scenario = study_.scenario_at(row.point);
    row.cost = study_.cost_of(scenario);
    row.key = key_of(scenario);
  } catch (const ConfigError& error) {
    if (!first_unreadable_) first_unreadable_ = std::current_exception();
    add_unreadable(std::move(row), error.what());
    return;
  }
  if (first_point_of_.emplace(row.key, index).second) keys_.push_back(row.key);
  key_at_[index] = row.key;
  rows_[row.key].push_back(std::move(row));
}

void StudyWork::add_unreadable(StudyRow row, const std::string& error) {
  errors_.insert(error);
  if (unreadable_++ % options_.share.count == options_.share.index)
    collector_.add(std::move(row), {std::nullopt, error});
}

void StudyWork::leave_others_share() {
  std::vector<std::string> share;
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (i % options_.share.count == options_.share.index)
      share.push_back(keys_[i]);
    else
      rows_.erase(keys_[i]);
  keys_ = std::move(share);
}

bool StudyWork::begin(bool tries_failed_again) {
  const StudyShare& share = options_.share;
  const std::string part =
      share.count == 1 ? "" : fmt::format("-{}-{}", share.index + 1, share.count);
  run_ = store_.join_run(part, options_.ranks);
  if (run_->is_late()) return false;
  if (run_->is_first()) {
    store_.forget_dead_first();
    for (const std::string& key : keys_)
      if (tries_failed_again && store_.state_of(key) == PointState::kFailed) store_.forget(key);
    run_->let_others_in();
  }
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    show("looking for results", i, keys_.size());
    if (is_settled(keys_[i])) ++kept_;
  }
  return true;
}

void StudyWork::simulate() {
  line_.begin("simulating");
  while (!simulate_unclaimed()) wait_briefly();
}

/// True: every point of the share has its result.
bool StudyWork::simulate_unclaimed() {
  std::vector<std::size_t> missing;
  for (const std::string& key : keys_)
    if (!is_settled(key)) missing.push_back(first_point_of_.at(key));
  StudyRunnerOptions options;
  options.jobs = options_.jobs;
  options.simulate = simulate_briefly;
  options.scenario = [&](std::size_t index) {
    return study_.scenario_at(study_.plan().point(index));
  };
  options.claim = [&](std::size_t index) { return claim(index); };
  options.finished = [&](std::size_t index, const PointOutcome& outcome) {
    finish(index, outcome);
  };
  options.progress = [&](const StudyProgress& now) { show(now); };
  run_points(missing, options);
  return std::all_of(missing.begin(), missing.end(),
                     [&](std::size_t index) { return is_settled(key_at_.at(index)); });
}

bool StudyWork::is_settled(const std::string& key) {
  if (settled_.count(key) != 0) return true;
  if (store_.state_of(key) == PointState::kMissing) return false;
  settled_.insert(key);
  return true;
}

bool StudyWork::claim(std::size_t index) {
  const std::string& key = key_at_.at(index);
  if (is_settled(key)) return false;
  std::unique_ptr<PointClaim> claim = store_.claim(key);
  // Whoever had it before may have settled it meanwhile.
  if (claim == nullptr || is_settled(key)) return false;
  claims_[index] = std::move(claim);
  return true;
}

void StudyWork::finish(std::size_t index, const PointOutcome& outcome) {
  const std::string& key = key_at_.at(index);
  store_.keep(key, outcome);
  settled_.insert(key);
  claims_.erase(index);
  collect(key, outcome);
  ++simulated_;
}

void StudyWork::collect(const std::string& key, const PointOutcome& outcome) {
  std::vector<StudyRow>& rows = rows_.at(key);
  for (StudyRow& row : rows) collector_.add(std::move(row), outcome);
  rows.clear();
}

std::size_t StudyWork::collect() {
  line_.begin("reading results");
  std::size_t missing = 0;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const std::string& key = keys_[i];
    if (rows_.at(key).empty()) continue;  // collected
    show("reading results", i, keys_.size());
    if (const std::optional<PointOutcome> outcome = store_.find(key)) {
      collect(key, *outcome);
      continue;
    }
    ++missing;
    settled_.erase(key);
    store_.forget(key);
  }
  return missing;
}

StudyResult StudyWork::result() {
  const auto is_missing = [&](const std::string& key) { return !rows_.at(key).empty(); };
  const auto missing = std::count_if(keys_.begin(), keys_.end(), is_missing);
  if (missing == 0) return collector_.finish();
  ConfigError::Detail detail;
  detail.file = store_.folder();
  detail.found = fmt::format("{} of {} results are not there yet", missing, keys_.size());
  throw ConfigError(std::move(detail));
}

void StudyWork::wait_briefly() {
  const SignalGate signals;
  pollfd signal{signals.descriptor(), POLLIN, 0};
  poll(&signal, 1, kBriefMilliseconds);
  signals.throw_if_signalled();
  if (options_.ranks.count > 1)
    show(StudyProgress());
  else if (line_.is_due())
    line_.show("waiting for another process that simulates the rest");
}

StudyProgress StudyWork::progress_of_all() const {
  return store_.count([&](const std::string& key) { return rows_.count(key) != 0; });
}

std::size_t StudyWork::done() const { return progress_of_all().done; }

/// `own`: of this process, with what it found missing as the total.
void StudyWork::show(const StudyProgress& own) {
  if (!line_.is_due()) return;
  StudyProgress now = own;
  if (options_.ranks.count > 1) {
    now = progress_of_all();
    now.done -= std::min(now.done, kept_);
    now.total = keys_.size() - kept_;
  }
  line_.show(progress_text(now, line_.seconds()));
}

void StudyWork::show(const char* phase, std::size_t done, std::size_t total) {
  if (line_.is_due()) line_.show(fmt::format("{}: {} of {} points", phase, done, total));
}

}  // namespace rnicsim
