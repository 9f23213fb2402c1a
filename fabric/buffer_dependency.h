// SPDX-License-Identifier: MIT
// Whether the routes allow a deadlock: buffers that wait for one another in a circle.
//
// Under flow control by pause, a packet that is to leave a switch by a port waits for the buffer at
// the other end of the cable; the packets in there wait for the buffers behind the ports that they
// are to leave by. If that order has a cycle, paused ports can wait for ever. Every end point is
// taken to send to every other, all in one priority.
#pragma once

#include <vector>

#include "fabric/routes.h"
#include "fabric/topology.h"

namespace rnicsim {

/// A cycle of ports between switches, each waiting for the next and the last for the first,
/// beginning with the lowest; empty if there is none.
std::vector<PortRef> find_dependency_cycle(const Topology& topology, const Routes& routes);

}  // namespace rnicsim
