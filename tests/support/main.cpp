// SPDX-License-Identifier: MIT
// The main of every test executable. SystemC cannot start twice in a process, so ctest runs each
// test case in a process of its own; run the executable by hand with one case's name. Any SystemC
// warning or error fails the test.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdlib>
#include <systemc>

// The leak check reads the guard pages of the kernel's coroutine stacks and dies of it.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

/// Reports go to Catch, so nothing reaches stdout behind its back.
void fail_on_report(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (report.get_severity() == sc_core::SC_INFO) return;
  FAIL_CHECK("SystemC: " << report.what());
  const sc_core::sc_actions quiet =
      actions & ~(sc_core::SC_DISPLAY | sc_core::SC_LOG | sc_core::SC_STOP);
  sc_core::sc_report_handler::default_handler(report, quiet);
}

}  // namespace

int sc_main(int argc, char** argv) {
  sc_core::sc_report_handler::set_handler(fail_on_report);
  const int result = Catch::Session().run(argc, argv);
  sc_core::sc_report_handler::set_handler(nullptr);
  return result;
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
