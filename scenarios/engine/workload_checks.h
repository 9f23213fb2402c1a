// SPDX-License-Identifier: MIT
// Whether a workload is possible: operation and transport, sizes and path MTU, keys and pattern.
#pragma once

#include <string>

#include "model/json_document.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// Also interprets `inline` and `sizes`. `path` is where the workload stands in `document`,
/// `fabric` what its packets have to fit, with `added` bytes of tags and telemetry; throws
/// ConfigError.
void check_workload(const JsonNode& document, const std::string& path, WorkloadSpec& workload,
                    const FabricSpec& fabric, Bytes added);

}  // namespace rnicsim
