// SPDX-License-Identifier: MIT
// What one process does of a study, alone or with others that share the folder: it simulates what
// nobody else has, point after point, and collects what everybody left there.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scenarios/engine/study_file.h"
#include "scenarios/engine/study_result.h"
#include "tools/rnicsim/launcher.h"
#include "tools/rnicsim/point_store.h"
#include "tools/rnicsim/study_progress.h"

namespace rnicsim {

/// Every `count`-th of the points, from the `index`-th on.
struct StudyShare {
  std::size_t index = 0;
  std::size_t count = 1;
};

class StudyWork {
 public:
  struct Options {
    StudyShare share;
    unsigned jobs = 1;  ///< simulations at a time
    Ranks ranks;        ///< if several, progress is what all of them have done
  };

  /// Of these points. Throws ConfigError if none of them can be read, for one and the same reason.
  StudyWork(StudyFile& study, const PointStore& store, const std::vector<std::size_t>& points,
            const Options& options, StudyProgressLine& line);

  /// Joins those who are at it, or is the first, who forgets what failed before if it is to be
  /// tried again. False: it is too late, the others have come to the end. Throws ConfigError where
  /// there are no locks.
  bool begin(bool tries_failed_again);
  /// The others need not wait for results any more.
  void end_run() const noexcept { run_->end(); }
  bool run_has_ended() const { return run_->has_ended(); }
  /// Until every point of the share has a result, this process's or another's. Throws Interrupted.
  void simulate();
  /// Takes the results of the share; how many are not there. Those that cannot be read are
  /// forgotten, and simulate() makes them anew.
  std::size_t collect();
  /// What has been collected. Throws ConfigError if that is not all.
  StudyResult result();
  /// Shows how far everybody is, and lets a moment pass. Throws Interrupted.
  void wait_briefly();

  std::size_t size() const { return keys_.size(); }  ///< different results of the share
  std::size_t done() const;                          ///< of those, by anybody
  std::size_t kept() const { return kept_; }         ///< of those, at the beginning
  std::size_t simulated() const { return simulated_; }
  /// Of the points that were collected: those whose row has an error.
  std::size_t failed() const { return collector_.failed(); }

 private:
  void add_point(std::size_t index);
  void add_unreadable(StudyRow row, const std::string& error);
  void leave_others_share();
  bool simulate_unclaimed();
  bool is_settled(const std::string& key);
  bool claim(std::size_t index);
  void finish(std::size_t index, const PointOutcome& outcome);
  void collect(const std::string& key, const PointOutcome& outcome);
  StudyProgress progress_of_all() const;
  void show(const StudyProgress& own);
  void show(const char* phase, std::size_t done, std::size_t total);

  StudyFile& study_;
  const PointStore& store_;
  const Options options_;
  StudyProgressLine& line_;
  StudyCollector collector_;
  std::vector<std::string> keys_;  ///< of the share, in the order of the points, each once
  std::map<std::string, std::vector<StudyRow>> rows_;  ///< until they are collected
  std::map<std::string, std::size_t> first_point_of_;
  std::map<std::size_t, std::string> key_at_;
  std::map<std::size_t, std::unique_ptr<PointClaim>> claims_;
  std::set<std::string> settled_;  ///< keys whose results are there, if only an error
  std::unique_ptr<RunMembership> run_;
  std::exception_ptr first_unreadable_;
  std::set<std::string> errors_;  ///< of those that cannot be read
  std::size_t unreadable_ = 0;
  std::size_t kept_ = 0;
  std::size_t simulated_ = 0;
};

}  // namespace rnicsim
