// SPDX-License-Identifier: MIT
// Flows written one by one in a scenario, each at its time or behind others of the list: it begins
// when all that `after` names have ended (or failed), and `start` later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/engine/flows/flow.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

struct FlowListProblem {
  std::string key;  ///< "3.after.0"
  std::string text;
  std::string nearest;  ///< a name that may have been meant
};

/// What is wrong with a list, if anything is; `end_points`: by name.
std::optional<FlowListProblem> flow_list_problem(
    const std::vector<FlowSpec>& flows, const std::map<std::string, std::uint32_t>& end_points);

/// REQUIRES: flow_list_problem() finds none.
FlowPlan make_flow_list(const std::vector<FlowSpec>& flows,
                        const std::map<std::string, std::uint32_t>& end_points);

}  // namespace rnicsim
