// SPDX-License-Identifier: MIT
// The results of a study's points that have been simulated: DIR/points/KEY.json, each there whole
// or not at all; and what processes that share them tell each other, by locks on files beside
// them: KEY.lock, who simulates a point; first.lock, whether the first process, who makes the
// results, is still there; run.lock (run-JOB.lock of processes that a launcher started), who takes
// part, and in the file whether a first process has come to its end, and for whom.
//
// The system releases the locks of a process that dies. It may leave their files, which mean
// nothing without a lock; except that a run's tells the processes that have not come yet that they
// are too late, and stays for them. Approximates: where a file system has locks but does not say
// that a locked file was deleted (NFS may not), two processes may simulate the same point, to the
// same result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "scenarios/engine/study_runner.h"
#include "tools/rnicsim/launcher.h"

namespace rnicsim {

/// While it lives, nobody else has the same.
class PointClaim {
 public:
  PointClaim(std::string file, int descriptor) : file_(std::move(file)), descriptor_(descriptor) {}
  PointClaim(const PointClaim&) = delete;
  PointClaim& operator=(const PointClaim&) = delete;
  ~PointClaim();

 private:
  std::string file_;
  int descriptor_;
};

/// While it lives, this process takes part in the run of a study.
class RunMembership {
 public:
  /// The first to come finds nobody else, and everybody who comes then waits until it has let them
  /// in. Throws ConfigError where there are no locks.
  RunMembership(std::string file, const Ranks& ranks);
  RunMembership(const RunMembership&) = delete;
  RunMembership& operator=(const RunMembership&) = delete;
  ~RunMembership();

  bool is_first() const { return is_first_; }
  void let_others_in() const;
  /// The first process came to its end before this one came.
  bool is_late() const { return is_late_; }
  /// The first process has come to its end, well or not.
  bool has_ended() const;
  /// That is so now.
  void end() const noexcept;

 private:
  struct Story {
    std::set<std::size_t> came;  ///< their numbers
    bool has_ended = false;
  };
  /// False: to be tried again.
  bool join();
  Story story() const;
  bool note(const std::string& line) const;

  std::string file_;
  std::size_t own_;
  std::size_t count_;
  int descriptor_ = -1;
  bool is_first_ = false;
  bool is_late_ = false;
};

enum class PointState { kMissing, kFailed, kSimulated };

class PointStore {
 public:
  explicit PointStore(const std::string& folder);

  const std::string& folder() const { return folder_; }
  bool is_empty() const;
  /// What find() would give, without reading all of it.
  PointState state_of(const std::string& key) const;
  /// Nothing: it has not been simulated, or its file is of no use.
  std::optional<PointOutcome> find(const std::string& key) const;
  /// Throws ConfigError if it cannot be written.
  void keep(const std::string& key, const PointOutcome& outcome) const;
  /// As if it had not been simulated. Throws ConfigError.
  void forget(const std::string& key) const;
  /// How many points of a study are there, and how many are being simulated, by anybody.
  StudyProgress count(const std::function<bool(const std::string& key)>& is_of_study) const;

  // All of these throw ConfigError where there are no locks.
  /// Null: another process has it.
  std::unique_ptr<PointClaim> claim(const std::string& key) const;
  /// The same for being the first process.
  std::unique_ptr<PointClaim> claim_first() const;
  /// There is one, or it has died.
  bool has_first() const;
  /// As if there had been none, if it has died.
  void forget_dead_first() const;
  /// `part` of the study: those who take part in different ones do not know each other, nor do
  /// those of different jobs.
  std::unique_ptr<RunMembership> join_run(const std::string& part, const Ranks& ranks) const;

 private:
  std::string file_of(const std::string& key) const;
  std::string lock_of(const std::string& name) const;

  std::string folder_;
};

}  // namespace rnicsim
