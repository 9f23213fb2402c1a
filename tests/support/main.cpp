// SPDX-License-Identifier: MIT
// The main of every test executable. SystemC cannot start twice in a process, so ctest runs each
// test case in a process of its own; run the executable by hand with one case's name. Any SystemC
// warning or error fails the test, and so does a leak under the address sanitizer.
#define CATCH_CONFIG_RUNNER
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <systemc>
#include <vector>

// The leak check reads the guard pages of the kernel's coroutine stacks and dies of it; so it is
// called from here, where no thread exists. Both functions are the sanitizer's own (or absent).
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "leak_check_at_exit=0"; }
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" __attribute__((weak)) int __lsan_do_recoverable_leak_check();

namespace {

/// Reports go to Catch, so nothing reaches stdout behind its back.
void fail_on_report(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (report.get_severity() == sc_core::SC_INFO) return;
  FAIL_CHECK("SystemC: " << report.what());
  const sc_core::sc_actions quiet =
      actions & ~(sc_core::SC_DISPLAY | sc_core::SC_LOG | sc_core::SC_STOP);
  sc_core::sc_report_handler::default_handler(report, quiet);
}

bool has_thread(const std::vector<sc_core::sc_object*>& objects) {
  return std::any_of(objects.begin(), objects.end(), [](sc_core::sc_object* object) {
    return std::string(object->kind()) == "sc_thread_process" ||
           has_thread(object->get_child_objects());
  });
}

bool leaks() {
  return __lsan_do_recoverable_leak_check != nullptr &&
         !has_thread(sc_core::sc_get_top_level_objects()) &&
         __lsan_do_recoverable_leak_check() != 0;
}

}  // namespace

int sc_main(int argc, char** argv) {
  sc_core::sc_report_handler::set_handler(fail_on_report);
  const int result = Catch::Session().run(argc, argv);
  sc_core::sc_report_handler::set_handler(nullptr);
  return result != 0 ? result : leaks() ? 1 : 0;
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
