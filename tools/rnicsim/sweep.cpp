// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "scenarios/engine/simulation.h"
#include "scenarios/engine/study_file.h"
#include "scenarios/engine/study_result.h"
#include "scenarios/engine/study_runner.h"
#include "scenarios/engine/study_verdict.h"
#include "tools/export/study_views.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/output_file.h"
#include "tools/rnicsim/point_store.h"
#include "tools/rnicsim/study_progress.h"

namespace rnicsim {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

constexpr CommandText kText = {
    "sweep STUDY [OPTION...]",
    "Simulates every point of a study (a file, or the name of one in scenarios/studies), each in "
    "a\n"
    "process of its own, and writes results.csv, results.json and report.html. Each point's "
    "result\n"
    "is kept as soon as it is there: an interrupted sweep goes on with --resume, and a study that\n"
    "has grown simulates only what is new.\n"
    "Several processes share a study where they share DIR: under mpirun or srun each takes point\n"
    "after point, and the first makes the results; with --shard each has its own part, and "
    "--merge\n"
    "makes the results of what they left."};

OptionList sweep_options() {
  OptionList options;
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("out", text()->value_name("DIR"),
                        "where results go (default: STUDY.sweep, here)");
  options.add_options()("resume", "use the points that DIR holds already");
  options.add_options()("filter", text()->value_name("EXPR"),
                        "only the points for which it holds, e.g. \"entries >= 64 and "
                        "page_size = '4 KiB'\"");
  options.add_options()("shard", text()->value_name("I/N"),
                        "simulate every N-th point, from the I-th on, and make no results");
  options.add_options()("merge", "simulate nothing, and make the results of what DIR holds");
  options.add_options()("json", "print results.json, and nothing else, on stdout");
  options.add_options()("quiet,q", "print only what failed");
  add_jobs_option(options);
  return options;
}

/// Of the points of a study.
struct Share {
  std::size_t index = 0;
  std::size_t count = 1;
};

Share share_of(const std::string& text) {
  Share share;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, share.index);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') {
    const auto second = std::from_chars(first.ptr + 1, end, share.count);
    if (second.ec == std::errc() && second.ptr == end && share.index >= 1 &&
        share.index <= share.count) {
      --share.index;
      return share;
    }
  }
  throw UsageError("--shard: expected I/N with I from 1 to N, found " + in_quotes(text));
}

std::string file_of_study(const std::string& name, const DataFolder& data) {
  std::error_code ignored;
  const bool is_path = name.find('/') != std::string::npos || fs::path(name).extension() == ".json";
  if (is_path || fs::is_regular_file(name, ignored)) return name;
  std::string shipped = fmt::format("{}/studies/{}.json", data.path(), name);
  if (fs::is_regular_file(shipped, ignored)) return shipped;
  ConfigError::Detail detail;
  detail.found = "no study " + in_quotes(name);
  detail.nearest = nearest_of(name, data.names("studies"));
  throw ConfigError(std::move(detail));
}

/// What nobody asks a point for later, and what would be long.
RunResult simulate_briefly(const Scenario& scenario, const SimulationHooks& hooks) {
  RunResult result = simulate(scenario, hooks);
  result.timeline.clear();
  result.flows.clear();
  for (auto& [path, metric] : result.metrics) metric.description.clear();
  return result;
}

/// The selected points of a study, and what is known of them.
class Sweep {
 public:
  Sweep(StudyFile& study, const PointStore& store, const std::vector<std::size_t>& points)
      : study_(study), store_(store), collector_(study) {
    for (const std::size_t index : points) add_point(index);
    if (keys_.empty() && unreadable_) std::rethrow_exception(unreadable_);
    kept_ = settled_.size();
  }

  /// Points whose results were there before.
  std::size_t kept() const { return kept_; }
  std::size_t simulated() const { return simulated_; }

  /// Simulates every N-th of the points that are not there yet, but for those that another process
  /// has claimed. True: nothing of that share is left to anybody.
  bool simulate_share(const Share& share, unsigned jobs, bool progress) {
    std::vector<std::size_t> missing;
    for (std::size_t i = share.index; i < keys_.size(); i += share.count)
      if (!is_settled(keys_[i])) missing.push_back(rows_.at(keys_[i]).front().point.index);
    bool all = true;
    StudyProgressLine line(progress);
    StudyRunnerOptions options;
    options.jobs = jobs;
    options.simulate = simulate_briefly;
    options.scenario = [&](std::size_t index) {
      return study_.scenario_at(study_.plan().point(index));
    };
    options.claim = [&](std::size_t index) {
      const bool mine = claim(index);
      all = all && (mine || is_settled(key_at_.at(index)));
      return mine;
    };
    options.finished = [&](std::size_t index, const PointOutcome& outcome) {
      const std::string& key = key_at_.at(index);
      store_.keep(key, outcome);
      claims_.erase(index);
      failed_before_.erase(key);
      collect(key, outcome);
      ++simulated_;
    };
    options.progress = [&](const StudyProgress& now) { line.show(now); };
    run_points(missing, options);
    return all;
  }

  /// Throws ConfigError if a point has not been simulated.
  StudyResult result() {
    std::size_t missing = 0;
    for (const std::string& key : keys_) {
      if (rows_.at(key).empty()) continue;  // collected
      const std::optional<PointOutcome> outcome = store_.find(key);
      if (outcome)
        collect(key, *outcome);
      else
        ++missing;
    }
    if (missing == 0) return collector_.finish();
    ConfigError::Detail detail;
    detail.file = store_.folder();
    detail.found = fmt::format("{} of {} results are not there yet", missing, keys_.size());
    throw ConfigError(std::move(detail));
  }

 private:
  /// Simulated before, or since this sweep began, if only to fail.
  bool is_settled(const std::string& key) {
    if (settled_.count(key) != 0) return true;
    const PointState state = store_.state_of(key);
    const bool settled = state == PointState::kSimulated ||
                         (state == PointState::kFailed && failed_before_.count(key) == 0);
    if (settled) settled_.insert(key);
    return settled;
  }

  void collect(const std::string& key, const PointOutcome& outcome) {
    for (StudyRow& row : rows_.at(key)) collector_.add(std::move(row), outcome);
    rows_.at(key).clear();
  }

  bool claim(std::size_t index) {
    const std::string& key = key_at_.at(index);
    std::unique_ptr<PointClaim> claim = store_.claim(key);
    // Whoever had it before may have settled it.
    if (claim == nullptr || is_settled(key)) return false;
    claims_[index] = std::move(claim);
    return true;
  }

  void add_point(std::size_t index) {
    StudyRow row;
    row.point = study_.plan().point(index);
    try {
      const Scenario scenario = study_.scenario_at(row.point);
      row.cost = study_.cost_of(scenario);
      row.key = key_of(scenario);
    } catch (const ConfigError& error) {
      if (!unreadable_) unreadable_ = std::current_exception();
      collector_.add(std::move(row), {std::nullopt, error.what()});
      return;
    }
    key_at_[index] = row.key;
    std::vector<StudyRow>& alike = rows_[row.key];
    if (alike.empty()) note_key(row.key);
    alike.push_back(std::move(row));
  }

  void note_key(const std::string& key) {
    keys_.push_back(key);
    const PointState state = store_.state_of(key);
    if (state != PointState::kMissing)
      (state == PointState::kSimulated ? settled_ : failed_before_).insert(key);
  }

  StudyFile& study_;
  const PointStore& store_;
  StudyCollector collector_;
  std::vector<std::string> keys_;  ///< in the order of the points, each once
  std::map<std::string, std::vector<StudyRow>> rows_;
  std::map<std::size_t, std::string> key_at_;
  std::map<std::size_t, std::unique_ptr<PointClaim>> claims_;
  std::set<std::string> settled_;        ///< keys
  std::set<std::string> failed_before_;  ///< keys, before this sweep and not yet again
  std::exception_ptr unreadable_;
  std::size_t kept_ = 0;
  std::size_t simulated_ = 0;
};

std::string where_of(const StudyPlan& plan, const StudyPoint& point) {
  std::string text = fmt::format("point {}", point.index);
  for (std::size_t a = 0; a < plan.axes().size(); ++a)
    text += fmt::format("{}{} {}", a == 0 ? " (" : ", ", plan.axes()[a].name, plan.label(point, a));
  return text + ')';
}

int write_results(const StudyResult& result, const std::string& folder,
                  const OptionValues& values) {
  const std::vector<MetricVerdict> verdicts = verdict_of(result);
  const std::string document = study_json(result, verdicts);
  write_output_file(folder, "results.csv", study_csv(result));
  write_output_file(folder, "results.json", document);
  write_output_file(folder, "report.html", study_html(result, verdicts));
  TerminalStyle style;
  style.colour = wants_colour();
  const bool sums_up = values.count("json") == 0 && values.count("quiet") == 0;
  if (values.count("json") != 0) std::cout << document;
  if (sums_up)
    std::cout << study_summary(result, verdicts, style)
              << fmt::format("results: {0}/results.csv, {0}/results.json, {0}/report.html\n",
                             folder);
  for (const std::string& warning : result.warnings)  // the summary has them
    if (!sums_up) std::cerr << fmt::format("{}: warning: {}\n", result.name, warning);
  int status = kExitGood;
  for (const StudyRow& row : result.rows) {
    if (row.error.empty()) continue;
    status = kExitFailed;
    std::cerr << fmt::format("{}: {}: {}\n", result.name, where_of(result.plan, row.point),
                             row.error);
  }
  return status;
}

void refuse_used_folder(const PointStore& store) {
  if (store.is_empty()) return;
  ConfigError::Detail detail;
  detail.file = store.folder();
  detail.found = "holds points already; --resume uses them, or name another folder with --out";
  throw ConfigError(std::move(detail));
}

/// As mpirun and srun tell each process that they start.
struct Ranks {
  std::size_t own = 0;
  std::size_t count = 1;
};

Ranks ranks_of_launcher() {
  constexpr std::pair<const char*, const char*> kLaunchers[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [own, count] : kLaunchers) {
    const char* rank = std::getenv(own);
    const char* size = std::getenv(count);
    if (rank != nullptr && size != nullptr)
      return {std::strtoul(rank, nullptr, 10), std::max(1UL, std::strtoul(size, nullptr, 10))};
  }
  return {};
}

/// Until nothing of the share is left, or, if it need not wait for others, nothing unclaimed.
void simulate_all(Sweep& sweep, const Share& share, unsigned jobs, bool progress, bool waits) {
  try {
    while (!sweep.simulate_share(share, jobs, progress) && waits)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } catch (const Interrupted&) {
    std::cerr << fmt::format("{} points were simulated; --resume goes on with them\n",
                             sweep.simulated());
    throw;
  }
}

std::string only_study(const OptionValues& values) {
  const std::vector<std::string> names = strings_of(values, "STUDY");
  if (names.empty()) throw UsageError("no study given");
  if (names.size() > 1) throw UsageError("one study at a time");
  return names[0];
}

std::string text_of(const OptionValues& values, const char* option, const std::string& otherwise) {
  return values.count(option) != 0 ? values[option].as<std::string>() : otherwise;
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  const auto values = parse_options(kText, sweep_options(), "STUDY", arguments);
  if (!values) return kExitGood;
  const DataFolder data = DataFolder::of_this_program();
  const std::string file = file_of_study(only_study(*values), data);
  const bool sharded = values->count("shard") != 0;
  const bool merges = values->count("merge") != 0;
  if (sharded && merges)
    throw UsageError("--merge goes without --shard, when all shards are there");
  const Share share = sharded ? share_of((*values)["shard"].as<std::string>()) : Share();
  const Ranks ranks = ranks_of_launcher();

  StudyFile study(file, data);
  const std::string folder = text_of(*values, "out", study.name() + ".sweep");
  check_output_folder(folder);
  const PointStore store(folder);
  const bool alone = !sharded && ranks.count == 1;
  if (alone && !merges && values->count("resume") == 0) refuse_used_folder(store);
  const std::vector<std::size_t> points = study.plan().matching(text_of(*values, "filter", ""));
  if (points.empty()) throw UsageError("--filter: it holds for no point");
  Sweep sweep(study, store, points);
  const bool quiet = values->count("quiet") != 0;
  const bool makes_results = !sharded && ranks.own == 0;
  if (!merges) {
    const unsigned jobs = ranks.count > 1 && values->count("jobs") == 0 ? 1 : jobs_of(*values);
    simulate_all(sweep, share, jobs, !quiet && ranks.own == 0, makes_results);
  }
  if (makes_results) return write_results(sweep.result(), folder, *values);
  if (!quiet && ranks.own == 0)
    std::cout << fmt::format("{} points simulated, {} were there already\n", sweep.simulated(),
                             sweep.kept());
  return kExitGood;
}

}  // namespace rnicsim
