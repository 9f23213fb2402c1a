// SPDX-License-Identifier: MIT
// What limited a workload, out of what the blocks measured: never a guess from the configuration.
//
// Over the time from the workload's first post to its last completion, each resource that it can
// have used (those of its hosts, and ports of switches on its ways) has a share:
//   - busy: a link, a pipeline or a memory that does one thing at a time was doing it ("busy" of a
//     block, where it does not merely say that something was under way);
//   - a CPU core worked on data, polls that found nothing left out;
//   - stalled: all of a block's places were taken and something waited for one (walks, locks,
//   tags),
//     or a peer had stopped a priority by a pause.
// The largest share is the verdict if it is at least kSaturated. If none is, a block that had one
// thing under way at a time for at least kSerial of the time is; then a NIC that had as many writes
// under way as it allows (which also happens behind a link that is busy, so it comes after it).
// Else the number of messages under way (rate times latency) against what the workload allows tells
// whether its window was full: then each message took its latency and only more at a time would
// help; `max_rd_atomic` and congestion control are named where the NIC counted that they held
// something back.
//
// Approximates: what other workloads did meanwhile counts as well, and so it should: they share
// the resource. Of a workload alone in its run, setting up queue pairs counts too (activity_log); a
// share is cut at 1. A perftest over several sizes gets one verdict over all of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"
#include "scenarios/engine/workload.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

/// Time in which each core of a host worked on data, by host.
using CoreWork = std::map<std::string, std::vector<Time>>;

constexpr double kSaturated = 0.8;
constexpr double kSerial = 0.9;

struct WorkloadEvidence {
  const std::map<std::string, Metric>& metrics;
  const CoreWork& cores;
  const std::set<std::string>& switch_ports;  ///< that its packets can take: "fabric.leaf0.port3"
};

/// REQUIRES: span.is_known(), and the workload has come to its end.
Bottleneck find_bottleneck(const WorkloadSpec& workload, const WorkSpan& span,
                           const WorkloadEvidence& evidence);

}  // namespace rnicsim
