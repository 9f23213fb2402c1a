// SPDX-License-Identifier: MIT
// Whether ports have paused each other for good: a port that is paused and has packets waits for
// the buffer behind its cable, and that for the paused ports for which packets are in it that came
// by this cable. A cycle in that order is a deadlock. Looks at switches as they are now; meant for
// the end of a run, when it looks through whole queues.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/switch.h"
#include "fabric/topology.h"

namespace rnicsim {

struct PausedPort {
  PortRef port;
  std::uint8_t priority = 0;
};

/// `switches` are the topology's, in its order. The ports of a cycle, each waiting for the next and
/// the last for the first; empty if there is none.
std::vector<PausedPort> find_pause_cycle(const Topology& topology,
                                         const std::vector<std::unique_ptr<Switch>>& switches);

}  // namespace rnicsim
