// SPDX-License-Identifier: MIT
// Flows from files of other simulators.
//
// HPCC flow file: a count, then `src dst pg dport size_bytes start_seconds` a line. `pg` becomes
// the priority. Times count from the earliest: the generators begin at 2 s. Sizes are taken whole,
// where HPCC itself keeps 32 bits. What follows the flows and does not begin with two numbers is
// prose.
//
// htsim connection matrix (.cm, .tm): `Nodes N`, `Connections M`, optionally `Triggers T` and
// `Failures F`, then connections and triggers; times in picoseconds. A connection's two done
// triggers are pulled at the same time, when the sender has its completion: over a reliable
// connection everything has arrived by then.
//
// Strict: a count that the body does not match is an error that says both, as is an id without a
// host, a trigger that nobody pulls or that is pulled too often or too seldom.
// Left out: failures (they belong into `fabric.failures`), connections without an end (size 0).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/engine/flows/flow.h"

namespace rnicsim {

/// `end_points[id]`: of the host of that number in the file, Flow::kNone if there is none. Tells
/// the formats apart by their first word. Throws ConfigError.
FlowPlan read_flow_file(std::string_view text, const std::string& file,
                        const std::vector<std::uint32_t>& end_points);

}  // namespace rnicsim
