// SPDX-License-Identifier: MIT
// Topology files (.topo) of htsim: leaf-spine and fat trees.
//
// One `key value` a line, `#` begins a comment line, keys ignore case: `Nodes`, `Tiers` (2 or 3),
// `Podsize` (hosts), then for each tier `Tier k` and its settings; tier 0 is next to the hosts. The
// numbers must fit one another as htsim wants it; an error says both sides.
//
// A latency of a switch that is 0 or missing means the one configured for all. Queue sizes are kept
// but build nothing: switches here share their buffer. Likely error: `Bundle` stands at the upper
// end of the links that it multiplies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology.h"
#include "model/units.h"

namespace rnicsim {

struct HtsimTopology {
  struct Tier {
    int line = 0;  ///< of `Tier k`
    BitRate downlink_rate;
    std::optional<Time> downlink_latency;
    std::uint32_t radix_down = 0;
    std::uint32_t radix_up = 0;  ///< 0 at the top
    std::uint32_t oversubscribed = 1;
    std::uint32_t bundle = 1;  ///< parallel downlinks to each switch below
    Time switch_latency;
    std::optional<Bytes> queue_up;
    std::optional<Bytes> queue_down;
  };

  std::string file;
  std::uint32_t nodes = 0;
  std::uint32_t pod_size = 0;
  std::vector<Tier> tiers;

  std::uint32_t pods() const { return nodes / pod_size; }
  std::uint32_t edges() const { return pod_size / tiers[0].radix_down; }              ///< of a pod
  std::uint32_t aggregations() const { return tiers[0].radix_up / tiers[1].bundle; }  ///< of a pod
  std::uint32_t cores() const {  ///< of an aggregation
    return tiers.size() == 3 ? tiers[1].radix_up / tiers[2].bundle : 0;
  }
};

/// Throws ConfigError.
HtsimTopology read_htsim_topology(std::string_view text, const std::string& file);

/// Fewer end points than hosts leave the last places empty; more are an error.
Topology build_htsim(const HtsimTopology& source, const std::vector<std::string>& end_points);

}  // namespace rnicsim
