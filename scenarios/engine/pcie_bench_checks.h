// SPDX-License-Identifier: MIT
// What a workload of the pattern pcie_bench must satisfy, and what its lists mean.
#pragma once

#include <string>

#include "model/json_document.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// Fills in operations, sizes and windows. Throws ConfigError.
void check_pcie_bench(const JsonNode& document, const std::string& path, WorkloadSpec& workload,
                      const HostSpec& host);

}  // namespace rnicsim
