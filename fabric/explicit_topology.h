// SPDX-License-Identifier: MIT
// A topology from lists of switches and links.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology.h"
#include "fabric/topology_config.h"

namespace rnicsim {

/// Throws ConfigError with a path such as "explicit.links.3.to".
Topology build_explicit(const ExplicitConfig& config, const std::vector<std::string>& end_points);

}  // namespace rnicsim
