// SPDX-License-Identifier: MIT
// From the settings of a topology and the list of NICs to the topology.
//
// NICs take the places in the order given: those of the first switch, then of the second, and so
// on. Fewer NICs than places are fine, and Topology::notes says where places stay empty (their
// ports exist); more are an error. A switch's first ports are those of its NICs.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology.h"
#include "fabric/topology_config.h"

namespace rnicsim {

/// `end_points` are the NICs' names ("A.nic0", or "A" of a host with one); what stands before the
/// last dot is the host. `folder` is where a topology's file name starts from. Throws ConfigError;
/// unless it is about a file, it has no place yet: only a path below the object that holds the
/// TopologyConfig ("fat_tree.k"), the problem, and perhaps the nearest name.
Topology build_topology(const TopologyConfig& config, const std::vector<std::string>& end_points,
                        const std::string& folder = {});

}  // namespace rnicsim
