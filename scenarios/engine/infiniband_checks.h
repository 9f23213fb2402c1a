// SPDX-License-Identifier: MIT
// What must hold of a scenario whose link layer is InfiniBand: LIDs and buffers suffice, and
// nothing is set that only Ethernet has.
#pragma once

#include "model/json_document.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// Throws ConfigError, placed by `document`, from which `scenario` was read.
void check_infiniband(const JsonNode& document, const Scenario& scenario);

}  // namespace rnicsim
