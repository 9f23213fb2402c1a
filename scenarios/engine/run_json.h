// SPDX-License-Identifier: MIT
// A RunResult as JSON and back: for the result document, and for the pipe between a simulation's
// process and its parent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/engine/run_result.h"

namespace rnicsim {

nlohmann::ordered_json timeline_to_json(const std::vector<TimelineRecord>& timeline);
/// path -> { value, unit }: a whole number where the metric is exact.
nlohmann::ordered_json metrics_to_json(const std::map<std::string, Metric>& metrics);
/// As the result document has them.
nlohmann::ordered_json bottlenecks_to_json(const std::vector<Bottleneck>& bottlenecks);
nlohmann::ordered_json flows_to_json(const std::vector<FlowRecord>& flows);
nlohmann::ordered_json violation_to_json(const Violation& violation);
/// A whole number as such, as far as a double holds it; null if it is not finite.
nlohmann::ordered_json number_to_json(double value);

/// Everything in the result, on one line.
std::string run_to_text(const RunResult& result);
/// REQUIRES: `text` is what run_to_text gave.
RunResult run_from_text(const std::string& text);

}  // namespace rnicsim
