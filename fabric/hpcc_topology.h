// SPDX-License-Identifier: MIT
// Topology files of HPCC and its descendants, which its ns-3 simulator reads.
//
// Line 1 is a header, told by its number of words: 3 `nodes switches links` (HPCC, ConWeave); 4
// `nodes switches tors links` (ns3-datacenter); 6 `nodes gpus_per_server nvswitches switches links
// gpu_type` (SimAI). Line 2 names the switches' ids, NVSwitches first. Then one link a line:
// `src dst rate delay error_rate`; ports are numbered in that order. What follows the links and
// looks like none is prose and left out; any count that the body does not bear out is an error.
//
// Hosts are the ids not on line 2; a host with several links has several NIC ports. NVSwitches and
// their links are no Ethernet: they are left out of the topology, with a note.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology.h"
#include "model/units.h"

namespace rnicsim {

struct HpccTopology {
  enum class NodeType : std::uint8_t { kHost, kSwitch, kNvSwitch };
  struct Link {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    BitRate rate;
    Time delay;
    double loss = 0.0;
  };

  std::string file;
  std::vector<NodeType> nodes;
  std::vector<std::uint32_t> switches;  ///< ids in the order of line 2, without NVSwitches
  std::uint32_t tors = 0;               ///< of ns3-datacenter: so many of the switches come first
  std::uint32_t gpus_per_server = 0;    ///< of SimAI
  std::string gpu_type;
  std::vector<Link> links;

  /// The node of each NIC port, in the order in which end points take them: by id, and of a host
  /// with several by appearance. Flow files name hosts by these ids.
  std::vector<std::uint32_t> nic_hosts() const;
};

/// Throws ConfigError.
HpccTopology read_hpcc_topology(std::string_view text, const std::string& file);

/// Switches are called switch and their id. Fewer end points than NIC ports leave the last ones
/// empty; more are an error.
Topology build_hpcc(const HpccTopology& source, const std::vector<std::string>& end_points);

}  // namespace rnicsim
