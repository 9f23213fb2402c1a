// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

#include "scenarios/engine/study_file.h"
#include "scenarios/engine/study_result.h"
#include "scenarios/engine/study_verdict.h"
#include "tools/export/study_views.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/launcher.h"
#include "tools/rnicsim/output_file.h"
#include "tools/rnicsim/point_store.h"
#include "tools/rnicsim/study_progress.h"
#include "tools/rnicsim/study_work.h"

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
    "Several processes share a study where they share DIR; on several machines, that is a file\n"
    "system with locks that all of them see. Under mpirun or srun each takes point after point,\n"
    "--jobs at a time (default there: one), and one makes the results. What a process that\n"
    "dies had begun, the others do; but mpirun ends them too unless it is given\n"
    "--enable-recovery, and --resume goes on then. With --shard each process has its own part,\n"
    "and --merge makes the results of what they left."};

OptionList sweep_options() {
  OptionList options;
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("out", text()->value_name("DIR"),
                        "where results go (default: STUDY.sweep, here)");
  options.add_options()("resume",
                        "use the points that DIR holds already, and try again those that failed");
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

StudyShare share_of(const std::string& text) {
  StudyShare share;
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

std::string where_of(const StudyPlan& plan, const StudyPoint& point) {
  std::string text = fmt::format("point {}", point.index);
  for (std::size_t a = 0; a < plan.axes().size(); ++a)
    text += fmt::format("{}{} {}", a == 0 ? " (" : ", ", plan.axes()[a].name, plan.label(point, a));
  return text + ')';
}

int write_results(const StudyResult& result, const std::string& folder, const OptionValues& values,
                  StudyProgressLine& line) {
  const std::vector<MetricVerdict> verdicts = verdict_of(result);
  const std::string document = study_json(result, verdicts);
  write_output_file(folder, "results.csv", study_csv(result));
  write_output_file(folder, "results.json", document);
  write_output_file(folder, "report.html", study_html(result, verdicts));
  line.clear();
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

/// Until everything has a result; `collects`: and this process has taken all of them.
void simulate_all(StudyWork& work, bool collects) {
  do work.simulate();
  while (collects && work.collect() != 0);
}

/// While it lives, this process is the first, who makes the results, and the others wait for it.
class FirstPlace {
 public:
  FirstPlace(const RunMembership& run, std::unique_ptr<PointClaim> claim)
      : run_(run), claim_(std::move(claim)), is_of_dead_(run.has_begun()) {
    run_.begin();
  }
  FirstPlace(const FirstPlace&) = delete;
  FirstPlace& operator=(const FirstPlace&) = delete;
  ~FirstPlace() { run_.end(); }  // while nobody else can have the place

  /// Another had it, and died.
  bool is_of_dead() const { return is_of_dead_; }

 private:
  const RunMembership& run_;
  std::unique_ptr<PointClaim> claim_;
  bool is_of_dead_;
};

/// Null: somebody else has it.
std::unique_ptr<FirstPlace> take_place(const StudyWork& work, const PointStore& store) {
  std::unique_ptr<PointClaim> claim = store.claim_first();
  if (claim == nullptr || work.run().has_ended()) return nullptr;
  return std::make_unique<FirstPlace>(work.run(), std::move(claim));
}

/// For one that has nothing left to simulate. Null: the first has come to its end. It may have
/// died, or never have come.
std::unique_ptr<FirstPlace> wait_for_place(const Ranks& ranks, StudyWork& work,
                                           const PointStore& store) {
  try {
    while (!work.run().has_ended()) {
      if (std::unique_ptr<FirstPlace> place = take_place(work, store)) {
        if (place->is_of_dead())
          std::cerr << fmt::format("the first process died; process {} makes the results\n",
                                   ranks.own);
        return place;
      }
      work.wait_briefly();
    }
  } catch (const Interrupted&) {
    // Every point is there. It may be mpirun, as soon as the first has said that some failed.
  }
  return nullptr;
}

/// Null: another process makes the results.
std::unique_ptr<FirstPlace> simulate_as_one_of(const Ranks& ranks, StudyWork& work,
                                               const PointStore& store) {
  std::unique_ptr<FirstPlace> place;
  if (ranks.own == 0) place = take_place(work, store);
  simulate_all(work, place != nullptr);
  if (place != nullptr) return place;
  place = wait_for_place(ranks, work, store);
  if (place != nullptr) simulate_all(work, true);
  return place;
}

/// What --shard ends with.
int report_share(const StudyWork& work, bool quiet, StudyProgressLine& line) {
  line.clear();
  if (!quiet)
    std::cout << fmt::format("{} points simulated, {} were there already\n", work.simulated(),
                             work.kept());
  if (work.failed() == 0) return kExitGood;
  std::cerr << fmt::format("{} points of the shard failed; --merge says how\n", work.failed());
  return kExitFailed;
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

struct SweepOptions {
  explicit SweepOptions(const OptionValues& values)
      : is_sharded(values.count("shard") != 0),
        merges(values.count("merge") != 0),
        resumes(values.count("resume") != 0),
        is_quiet(values.count("quiet") != 0),
        ranks(ranks_of_launcher()) {
    if (is_sharded && merges)
      throw UsageError("--merge goes without --shard, when all shards are there");
    if (is_sharded) work.share = share_of(values["shard"].as<std::string>());
    work.ranks = ranks;
    work.jobs = ranks.count > 1 && values.count("jobs") == 0 ? 1 : jobs_of(values);
  }

  bool is_sharded;
  bool merges;
  bool resumes;
  bool is_quiet;
  Ranks ranks;
  StudyWork::Options work;
};

/// `report`: how it ended, by the one process that says so.
int take_part(StudyWork& work, const PointStore& store, const SweepOptions& options,
              const std::function<int()>& report) {
  if (!work.begin(options.resumes)) return kExitGood;
  if (!options.is_sharded && options.ranks.count > 1) {
    const std::unique_ptr<FirstPlace> place = simulate_as_one_of(options.ranks, work, store);
    return place != nullptr ? report() : kExitGood;
  }
  simulate_all(work, options.ranks.own == 0);
  return options.ranks.own == 0 ? report() : kExitGood;
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  const auto values = parse_options(kText, sweep_options(), "STUDY", arguments);
  if (!values) return kExitGood;
  const DataFolder data = DataFolder::of_this_program();
  const std::string file = file_of_study(only_study(*values), data);
  const SweepOptions options(*values);
  StudyProgressLine line(!options.is_quiet && options.ranks.own == 0, options.ranks.count > 1);
  StudyFile study(file, data);
  const std::string folder = text_of(*values, "out", study.name() + ".sweep");
  check_output_folder(folder);
  const PointStore store(folder);
  const bool joins = options.is_sharded || options.ranks.count > 1;
  if (!joins && !options.merges && !options.resumes) refuse_used_folder(store);
  const std::vector<std::size_t> points = study.plan().matching(text_of(*values, "filter", ""));
  if (points.empty()) throw UsageError("--filter: it holds for no point");

  StudyWork work(study, store, points, options.work, line);
  const auto report = [&] {
    if (options.is_sharded) return report_share(work, options.is_quiet, line);
    line.begin("making the results");
    return write_results(work.result(), folder, *values, line);
  };
  if (options.merges) {
    if (options.ranks.own != 0) return kExitGood;
    work.collect();
    return report();
  }
  try {
    return take_part(work, store, options, report);
  } catch (const Interrupted& interrupted) {
    line.clear();
    // Of many processes one says it: mpirun ends them all, also when some points have failed.
    if (options.ranks.own != 0) return 128 + interrupted.signal();
    std::cerr << fmt::format("{} of {} points are there; --resume goes on with them\n", work.done(),
                             work.size());
    throw;
  }
}

}  // namespace rnicsim
