// SPDX-License-Identifier: MIT
// The program `rnicsim`.
#include <cstdlib>
#include <systemc>

#include "tools/rnicsim/command_line.h"

// The leak check reads the guard pages of the kernel's coroutine stacks and dies of it.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

// The kernel wants to be the caller.
int sc_main(int argc, char** argv) {
  return rnicsim::run_command_line({argv + (argc > 0 ? 1 : 0), argv + argc});
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
