// SPDX-License-Identifier: MIT
// What ends a random program: the simulation did what verbs do not promise, or could not go on.
#pragma once

#include <sstream>
#include <stdexcept>

namespace rnicsim::stress {

struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws with what was wrong.
template <class... Parts>
[[noreturn]] void mismatch(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Mismatch(text.str());
}

}  // namespace rnicsim::stress
