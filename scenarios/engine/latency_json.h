// SPDX-License-Identifier: MIT
// Where the time of messages went, as JSON: for the way from a simulation's process, and for pages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/engine/latency_result.h"

namespace rnicsim {

/// A list of
///   { workload, messages, left_out, whole, stages: { NAME: SPREAD }, ranked, shown }
/// where a SPREAD is { messages, mean_ps, p50_ps, p90_ps, p99_ps, max_ps, share }; ranked and shown
/// are lists of { work_request, bytes, begin_ps, end_ps, stages: { NAME: ps },
/// pieces: [[NAME, begin, end]] }. Stages that no message had are not there.
nlohmann::ordered_json latency_to_json(const std::vector<WorkloadLatency>& latency);
std::vector<WorkloadLatency> latency_of_json(const nlohmann::json& list);

}  // namespace rnicsim
