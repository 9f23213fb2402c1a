// SPDX-License-Identifier: MIT
// The command line as a whole: finds the subcommand, and turns every kind of failure into one line
// on stderr and an exit status.
#pragma once

#include <string>
#include <vector>

namespace rnicsim {

/// `arguments` without the program's name. Returns the exit status: 0 good; 1 an expectation or an
/// invariant failed; 2 bad usage or input; 3 a fault of the simulator; 128 + n ended by signal n.
int run_command_line(const std::vector<std::string>& arguments);

}  // namespace rnicsim
