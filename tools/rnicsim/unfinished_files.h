// SPDX-License-Identifier: MIT
// Files that simulations write while they run: made under other names before anything runs, so that
// one that cannot be written is known then, and given their own names together when all has ended
// well.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/scenario_file.h"

namespace rnicsim {

/// Which file of several a run has: `file` with the run's name before its ending.
std::string file_of_run(const std::string& file, std::string run);
/// The file of each run, in the order of files and runs: `file` itself, or, of several runs, with
/// the run's name before its ending ("x.write_8step.huge_pages.pcapng").
std::vector<std::string> files_of_runs(const std::string& file,
                                       const std::vector<ScenarioFile>& scenarios);

class UnfinishedFiles {
 public:
  UnfinishedFiles() = default;
  UnfinishedFiles(const UnfinishedFiles&) = delete;
  UnfinishedFiles& operator=(const UnfinishedFiles&) = delete;
  /// Removes what was not kept.
  ~UnfinishedFiles();

  /// Returns the name to write to. Throws ConfigError.
  std::string add(const std::string& file);
  /// Throws ConfigError.
  void keep();

 private:
  struct Unfinished {
    std::string file;
    std::string written;
  };
  std::vector<Unfinished> files_;
};

}  // namespace rnicsim
