// SPDX-License-Identifier: MIT
// Which ports of a switch lead to an end point: all those on a shortest path, in ascending order.
//
// Shortest counts global links of a dragonfly first, then all links, so that its routes are the
// minimal ones: at most one global link while any such way exists. Links that are one_way are used
// in their direction only, failed links not at all; compute anew when a link fails. A destination
// that cannot be reached has an empty group.
//
// A look-up costs two loads: the destination's switch, and the group of ports towards it. The
// table has a word for each pair of switches, not of switch and end point: 160 KiB for a fat tree
// of 1,024 hosts. Equal groups of different switches share their storage.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology.h"

namespace rnicsim {

/// Ports of one switch. Valid as long as the Routes it comes from.
class PortGroup {
 public:
  PortGroup() = default;
  PortGroup(const std::uint16_t* first, std::uint32_t size) : first_(first), size_(size) {}
  const std::uint16_t* begin() const { return first_; }
  const std::uint16_t* end() const { return first_ + size_; }
  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint16_t operator[](std::uint32_t i) const { return first_[i]; }

 private:
  const std::uint16_t* first_ = nullptr;
  std::uint32_t size_ = 0;
};

class Routes {
 public:
  /// `failed` are numbers of links. Throws ConfigError if the network is too large for the table.
  explicit Routes(const Topology& topology, const std::vector<std::uint32_t>& failed = {});

  /// The ports of switch `node` that lead to end point `destination`.
  PortGroup ports(std::uint32_t node, std::uint32_t destination) const {
    const Home& home = homes_[destination];
    if (home.node == node) return {&home.port, 1};
    if (home.node == kNoSwitch) return {};
    return group(table_[std::size_t{node - first_switch_} * columns_ + home.column]);
  }

  /// Whether the end point is plugged into that switch.
  bool is_home(std::uint32_t node, std::uint32_t destination) const {
    return homes_[destination].node == node;
  }

  /// The ports on a path between two end points, its own and one of each switch (the first of each
  /// group); empty if there is none. For ideal times and for messages.
  std::vector<PortRef> first_path(const Topology& topology, std::uint32_t from,
                                  std::uint32_t to) const;

 private:
  friend class RouteFinder;

  static constexpr std::uint32_t kNoSwitch = UINT32_MAX;
  static constexpr unsigned kSizeBits = 12;  ///< of a table entry; the others are the first port's
  PortGroup group(std::uint32_t entry) const {
    return {group_ports_.data() + (entry >> kSizeBits), entry & ((1U << kSizeBits) - 1)};
  }

  /// Where an end point is plugged in.
  struct Home {
    std::uint32_t node = kNoSwitch;
    std::uint16_t column = 0;
    std::uint16_t port = 0;
  };

  std::uint32_t first_switch_;
  std::uint32_t columns_ = 0;  ///< switches that have end points
  std::vector<Home> homes_;
  std::vector<std::uint32_t> table_;
  std::vector<std::uint16_t> group_ports_;
  std::vector<bool> failed_;
};

}  // namespace rnicsim
