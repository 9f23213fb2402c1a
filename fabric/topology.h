// SPDX-License-Identifier: MIT
// What is connected to what: end points (ports of NICs) and switches as numbered nodes, their ports
// numbered in the order in which they are made, and the cables between ports. Pure data: knows
// neither kernel nor modules, costs a second for a million cables.
//
// End points are the nodes 0, 1, 2, ... in the order given, each with exactly one port; switches
// follow. fabric/topology_builder makes one by name, fabric/hpcc_topology and fabric/htsim_topology
// from files, fabric/routes finds the ways through it.
//
// Likely error: taking a port's number on one end for that on the other; use peer().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/units.h"

namespace rnicsim {

/// Which of the configured link settings a cable has.
enum class LinkClass : std::uint8_t {
  kHost,    ///< at least one end is an end point
  kFabric,  ///< between switches
  kGlobal,  ///< between groups of a dragonfly, usually the long ones
};

struct PortRef {
  std::uint32_t node = 0;
  std::uint32_t port = 0;
  friend bool operator==(PortRef a, PortRef b) { return a.node == b.node && a.port == b.port; }
  friend bool operator!=(PortRef a, PortRef b) { return !(a == b); }
};

/// What a cable has of its own, in place of the settings of its class.
struct LinkTraits {
  std::optional<BitRate> rate;
  std::optional<Time> delay;  ///< propagation, one way
  double loss = 0.0;          ///< chance of each packet, each direction, to be lost
  bool one_way = false;  ///< routes lead over it from `a` to `b` only; it still carries PFC back
};

struct TopologyLink {
  PortRef a;
  PortRef b;
  LinkClass link_class = LinkClass::kHost;
  LinkTraits own;
};

constexpr std::uint32_t kNoLink = UINT32_MAX;

struct TopologyNode {
  std::string name;
  bool is_switch = false;
  unsigned tier = 0;                 ///< 0: end point, 1: switch that has end points, then upwards
  std::optional<Time> latency;       ///< of a switch, where the topology's source says it
  std::vector<std::uint32_t> links;  ///< by port; kNoLink where nothing is plugged in
  std::uint32_t ports() const { return static_cast<std::uint32_t>(links.size()); }
};

class Topology {
 public:
  static constexpr std::size_t kMaxLinks = std::size_t{1} << 20;
  static constexpr std::uint32_t kMaxPorts = 32768;  ///< of one switch

  /// Throws ConfigError if two have the same name.
  explicit Topology(const std::vector<std::string>& end_points);
  /// Throws ConfigError if the name is taken.
  std::uint32_t add_switch(const std::string& name, unsigned tier);
  /// A port with nothing plugged in. Throws ConfigError beyond kMaxPorts.
  std::uint32_t add_port(std::uint32_t node);
  /// A new cable at a new port of each; returns its number. Throws ConfigError beyond kMaxLinks
  /// and kMaxPorts. REQUIRES: an end point has no cable yet.
  std::uint32_t connect(std::uint32_t a, std::uint32_t b, LinkClass link_class,
                        const LinkTraits& own = {});
  void set_latency(std::uint32_t node, Time latency) { nodes_[node].latency = latency; }
  /// Tier of every switch by its distance from the nearest end point.
  void set_tiers_by_distance();

  const std::vector<TopologyNode>& nodes() const { return nodes_; }
  const TopologyNode& node(std::uint32_t index) const { return nodes_[index]; }
  const std::vector<TopologyLink>& links() const { return links_; }
  std::uint32_t end_points() const { return end_points_; }
  std::uint32_t switches() const { return static_cast<std::uint32_t>(nodes_.size()) - end_points_; }
  std::optional<std::uint32_t> find(const std::string& name) const;
  /// The port at the other end. REQUIRES: something is plugged in.
  PortRef peer(PortRef port) const;
  /// "leaf0.port3"
  std::string name_of(PortRef port) const;
  /// "A.nic0-switch0", after its two ends.
  std::string link_name(std::uint32_t link) const;

  /// What a user should know of how it was made: places that stay empty, parts left out.
  std::vector<std::string> notes;

 private:
  std::uint32_t add_node(const std::string& name, bool is_switch, unsigned tier);

  std::uint32_t end_points_;
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyLink> links_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

}  // namespace rnicsim
