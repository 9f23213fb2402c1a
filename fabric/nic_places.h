// SPDX-License-Identifier: MIT
// The places for NICs of a topology, filled in order as its switches offer them. Says which stay
// empty, and refuses more NICs than places.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology.h"
#include "model/config_error.h"

namespace rnicsim {

/// An error about a setting, see build_topology.
ConfigError topology_error(const std::string& path, std::string problem, std::string nearest = {});

class NicPlaces {
 public:
  explicit NicPlaces(Topology& topology) : topology_(topology) {}

  /// Throws ConfigError at `path` if there are more NICs than `places`, or absurdly many places;
  /// `what` says whose they are ("fat_tree with k = 8").
  void require(std::uint64_t places, const std::string& what, const std::string& path) const;
  /// So many places at a switch, as its next ports. Those that no NIC is left for stay empty.
  void attach(std::uint32_t node, std::uint32_t places, const LinkTraits& own = {});
  /// Adds a note to the topology if places stay empty.
  void note_empty() const;

 private:
  Topology& topology_;
  std::uint32_t next_ = 0;  ///< NIC
  std::uint32_t places_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> empty_;  ///< node, how many
};

}  // namespace rnicsim
