// SPDX-License-Identifier: MIT
// What workloads over TCP need of each other and of their hosts.
#pragma once

#include "model/config_reader.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// Throws ConfigError; gives workloads the ports that they did not ask for. REQUIRES: each has been
/// checked for itself.
void check_tcp(const JsonNode& document, Scenario& scenario);

}  // namespace rnicsim
