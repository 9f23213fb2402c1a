// SPDX-License-Identifier: MIT
// Whether a workload of flows is possible: hosts, sizes, keys and pattern; and the flows that it
// stands for.
#pragma once

#include <string>

#include "model/json_document.h"
#include "scenarios/engine/flows/flow.h"
#include "scenarios/engine/flows/flow_sizes.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// Also interprets `from` and `to`. `path` is where the workload stands in `document`; throws
/// ConfigError.
void check_flows(const JsonNode& document, const std::string& path, WorkloadSpec& workload,
                 const Scenario& scenario);

/// Of a checked workload. Throws ConfigError if a file has changed since.
FlowPlan plan_flows(const WorkloadSpec& workload, const Scenario& scenario);

/// Distribution of the sizes of its flows, if it has one.
std::optional<FlowSizes> distribution_of(const WorkloadSpec& workload);

/// The number under which other simulators' scripts know each end point: of an HPCC topology file
/// the id of its host, else its own.
std::vector<std::uint32_t> node_ids(const Scenario& scenario);

}  // namespace rnicsim
