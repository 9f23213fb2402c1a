// SPDX-License-Identifier: MIT
// The files that `rnicsim run` writes of each run beside the captures: pictures, pages, and what
// other simulators' scripts read. Of several runs each has its own, with its name before the
// ending.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/expectations.h"
#include "scenarios/engine/scenario_file.h"
#include "tools/rnicsim/command_options.h"

namespace rnicsim {

/// Adds --csv, --fct, --pfc, --perfetto, --report, --svg and --lang.
void add_file_options(OptionList& options);
/// They can be written. Throws UsageError or ConfigError.
void check_file_options(const OptionValues& values);
/// No file, nor a capture's, has two writers: runs whose names are the same, say, of scenarios in
/// two folders. `scenarios`: as they were named on the command line. Throws ConfigError.
void check_files_differ(const OptionValues& values, const std::vector<std::string>& scenarios,
                        const std::vector<ScenarioFile>& files);
/// `scenarios`: as they were named on the command line.
void write_run_files(const OptionValues& values, const std::vector<std::string>& scenarios,
                     const std::vector<JudgedRun>& runs);

}  // namespace rnicsim
