// SPDX-License-Identifier: MIT
// Flows by pattern, from a seed: the same request gives the same flows.
//
//   incast       every sender to the one receiver
//   permutation  every sender to a receiver of its own, drawn at random, never itself
//   all_to_all   every sender to every receiver but itself; the i-th begins with the (i+1)-th
//   poisson      every sender to receivers drawn at random, gaps exponentially distributed so that
//                it offers `load` of its link
//   closed_loop  every sender to receivers drawn at random
//
// Of the first three every pair has `count` flows of `size`, of closed_loop every sender, of which
// `in_flight` are under way at a time: a flow begins `think` after the one so many before it has
// ended.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/units.h"
#include "scenarios/engine/flows/flow.h"
#include "scenarios/engine/flows/flow_sizes.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

struct FlowRequest {
  WorkloadPattern pattern = WorkloadPattern::kIncast;
  std::vector<std::uint32_t> from;  ///< end points, ascending
  std::vector<std::uint32_t> to;
  std::uint64_t seed = 0;
  FlowSizes sizes = FlowSizes::always(Bytes(1));
  std::uint64_t count = 1;      ///< of a pair or, closed_loop, of a sender; of poisson of all
  std::uint32_t in_flight = 1;  ///< likewise
  Time think;
  double load = 0;
  std::optional<Time> duration;  ///< instead of a count
  std::vector<BitRate> rates;    ///< of each end point's link
};

/// REQUIRES: flow_problem() finds none.
FlowPlan make_flows(const FlowRequest& request);

/// What is wrong with a request, for people; empty if nothing is.
std::string flow_problem(const FlowRequest& request);

}  // namespace rnicsim
