// SPDX-License-Identifier: MIT
// Runs a function in a process of its own and gives back the text that it returns: SystemC's kernel
// cannot start twice, and some tests compare two simulations. Call it before the test case makes
// modules of its own. An exception comes back as its text behind "exception: "; Catch's assertions
// inside do not reach the test.
#pragma once

#include <functional>
#include <string>

namespace rnicsim::test {

std::string in_own_process(const std::function<std::string()>& function);

}  // namespace rnicsim::test
