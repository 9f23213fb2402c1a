// SPDX-License-Identifier: MIT
// The subcommands, one source file each, and what they share. A command prints its result on
// stdout, everything else on stderr, and returns the exit status.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/expectations.h"
#include "scenarios/engine/runner.h"
#include "scenarios/engine/scenario_file.h"
#include "tools/rnicsim/command_options.h"

namespace rnicsim {

constexpr int kExitGood = 0;
constexpr int kExitFailed = 1;    ///< an expectation or an invariant
constexpr int kExitBadInput = 2;  ///< or bad usage
constexpr int kExitFault = 3;     ///< of the simulator

int run_command(const Arguments& arguments);
int check_command(const Arguments& arguments);
int list_command(const Arguments& arguments);
int show_command(const Arguments& arguments);
int import_command(const Arguments& arguments);
int schema_command(const Arguments& arguments);
int validate_command(const Arguments& arguments);
int compare_command(const Arguments& arguments);
int sweep_command(const Arguments& arguments);

/// Reads and checks a scenario named on the command line. Throws ConfigError.
ScenarioFile load_named(const std::string& name, const RunSelection& selection = {});

/// Runs them all, each run in a process of its own, and judges them; one list per file. A progress
/// line appears only on a terminal. `recordings`: none, or one for each run.
std::vector<std::vector<JudgedRun>> simulate_and_judge(
    const std::vector<ScenarioFile>& files, RunnerOptions options,
    const std::vector<RunRecording>& recordings = {});

/// "write_8step" or "write_8step (huge_pages)"
std::string run_name(const std::string& scenario, const std::string& variant);

/// Says on stderr what failed, a line each. False if anything did.
bool report_failures(const std::vector<JudgedRun>& runs);

/// If the option names a file, it can be written: known before hours have gone into a run. Throws
/// UsageError or ConfigError.
void check_place_of(const OptionValues& values, const char* option);

/// stdout is a terminal whose user has not asked for plain text.
bool wants_colour();

}  // namespace rnicsim
