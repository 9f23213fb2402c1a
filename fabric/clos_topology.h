// SPDX-License-Identifier: MIT
// Trees of switches with several roots: leaf-spine (two tiers) and fat trees (three), with any
// oversubscription and parallel links.
//
// Names: leaf0, spine0 in two tiers; edge0_0, aggregation0_0 (pod, number), core0 in three. A
// switch's ports: places for NICs or downlinks first, in the order of the switches below, then
// uplinks. Aggregation i of every pod has the cores i x cores, i x cores + 1, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/topology.h"

namespace rnicsim {

struct ClosShape {
  std::uint32_t pods = 1;
  std::uint32_t edges = 1;  ///< of a pod
  std::optional<std::uint32_t>
      places;                      ///< for NICs at each edge; the NICs spread evenly if not set
  std::uint32_t aggregations = 1;  ///< of a pod, each linked with each of its edges
  std::uint32_t edge_links = 1;    ///< parallel, of each edge to each aggregation
  std::uint32_t cores = 0;         ///< of each aggregation; 0: two tiers
  std::uint32_t core_links = 1;    ///< parallel, of each aggregation to each of its cores

  struct Tier {
    LinkTraits downlink;
    std::optional<Time> latency;
  };
  Tier tiers[3];  ///< edge, aggregation, core
};

/// `what` names it in errors, `path` is where they point (see build_topology).
Topology build_clos(const ClosShape& shape, const std::vector<std::string>& end_points,
                    const std::string& what, const std::string& path);

}  // namespace rnicsim
