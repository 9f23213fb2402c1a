// SPDX-License-Identifier: MIT
// What the tests of topologies and routes share: names of NICs, topologies from JSON, links as
// text.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "fabric/routes.h"
#include "fabric/topology_builder.h"
#include "model/config_error.h"
#include "model/json_document.h"

namespace rnicsim::testing {

/// h0, h1, ...
inline std::vector<std::string> nics(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("h" + std::to_string(i));
  return names;
}

inline TopologyConfig topology_config(const std::string& json) {
  TopologyConfig config;
  read_config(parse_json(json, "x.json"), config, "fabric");
  return config;
}

inline Topology topology_of(const std::string& json, const std::vector<std::string>& end_points,
                            const std::string& folder = {}) {
  return build_topology(topology_config(json), end_points, folder);
}
inline Topology topology_of(const std::string& json, std::size_t end_points) {
  return topology_of(json, nics(end_points));
}

/// "h0.port0-switch0.port0", in order
inline std::vector<std::string> links_of(const Topology& topology) {
  std::vector<std::string> links;
  for (const TopologyLink& link : topology.links())
    links.push_back(topology.name_of(link.a) + '-' + topology.name_of(link.b));
  return links;
}

inline std::uint32_t node_of(const Topology& topology, const std::string& name) {
  return topology.find(name).value();
}

/// Number of ports of each switch, in order.
inline std::vector<std::uint32_t> degrees(const Topology& topology) {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t node = topology.end_points(); node < topology.nodes().size(); ++node)
    ports.push_back(topology.node(node).ports());
  return ports;
}

inline std::vector<std::uint16_t> ports_to(const Topology& topology, const Routes& routes,
                                           const std::string& node,
                                           const std::string& destination) {
  const PortGroup group = routes.ports(node_of(topology, node), node_of(topology, destination));
  return {group.begin(), group.end()};
}

/// "h0 leaf0 spine1 leaf2 h9", what a packet passes when every switch takes its first port.
inline std::string path_of(const Topology& topology, const Routes& routes, const std::string& from,
                           const std::string& to) {
  std::string text;
  for (const PortRef port :
       routes.first_path(topology, node_of(topology, from), node_of(topology, to)))
    text += topology.node(port.node).name + ' ';
  return text.empty() ? "" : text + to;
}

/// The message of the ConfigError that `call` throws.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace rnicsim::testing
