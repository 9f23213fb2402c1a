// SPDX-License-Identifier: MIT
// What the simulations of `rnicsim run` record into files while they run: packets (--pcap) and
// waveforms (--vcd).
#pragma once

#include <vector>

#include "scenarios/engine/scenario_file.h"
#include "tools/rnicsim/command_options.h"
#include "tools/rnicsim/commands.h"
#include "tools/rnicsim/unfinished_files.h"

namespace rnicsim {

/// Adds --pcap, --pcap-port and --vcd.
void add_recording_options(OptionList& options);

class Recordings {
 public:
  /// `waveform`: which part, of which signals. Throws UsageError or ConfigError.
  Recordings(const OptionValues& values, const std::vector<ScenarioFile>& scenarios,
             const WaveformOptions& waveform);

  /// One for each run, in the order of files and runs.
  const std::vector<RunRecording>& of_runs() const { return recordings_; }
  /// All has ended well. Throws ConfigError.
  void keep() { files_.keep(); }

 private:
  void add_captures(const OptionValues& values, const std::vector<ScenarioFile>& scenarios);

  std::vector<RunRecording> recordings_;
  UnfinishedFiles files_;
};

}  // namespace rnicsim
