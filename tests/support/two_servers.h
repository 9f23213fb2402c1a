// SPDX-License-Identifier: MIT
// The smallest scenario for a test that brings its own programs.
#pragma once

#include "scenarios/engine/scenario.h"

namespace rnicsim::test {

/// Servers A and B.
inline Scenario two_servers() {
  Scenario scenario;
  scenario.hosts.resize(2);
  scenario.hosts[0].name = "A";
  scenario.hosts[1].name = "B";
  return scenario;
}

}  // namespace rnicsim::test
