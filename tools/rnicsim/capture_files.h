// SPDX-License-Identifier: MIT
// The capture files of a command's runs: made under other names before anything runs, so that a
// file that cannot be written is known then, and given their own names together when all has ended
// well.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/packet_capture.h"
#include "scenarios/engine/scenario_file.h"

namespace rnicsim {

/// Which file of several a run has: `file` with the run's name before its ending.
std::string file_of_run(const std::string& file, std::string run);

class CaptureFiles {
 public:
  CaptureFiles() = default;
  /// One file a run: `file` itself, or, of several runs, with the run's name before its ending
  /// ("x.write_8step.huge_pages.pcapng"). No two may have the same. Throws ConfigError.
  CaptureFiles(const std::string& file, const std::string& port_glob,
               const std::vector<ScenarioFile>& scenarios);
  CaptureFiles(const CaptureFiles&) = delete;
  CaptureFiles& operator=(const CaptureFiles&) = delete;
  /// Removes what was not kept.
  ~CaptureFiles();

  /// One for each run, in the order of files and runs.
  const std::vector<CaptureOptions>& of_runs() const { return captures_; }
  /// Throws ConfigError.
  void keep();

 private:
  void add(const std::string& file, const std::string& port_glob, const Scenario& run);
  void remove_unfinished();

  std::vector<CaptureOptions> captures_;
};

}  // namespace rnicsim
