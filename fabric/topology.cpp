// SPDX-License-Identifier: MIT
#include "fabric/topology.h"

#include "model/config_error.h"

namespace rnicsim {
namespace {

ConfigError problem(std::string found) {
  ConfigError::Detail detail;
  detail.found = std::move(found);
  return ConfigError(std::move(detail));
}

}  // namespace

Topology::Topology(const std::vector<std::string>& end_points)
    : end_points_(static_cast<std::uint32_t>(end_points.size())) {
  for (const std::string& name : end_points) add_node(name, false, 0);
}

std::uint32_t Topology::add_switch(const std::string& name, unsigned tier) {
  return add_node(name, true, tier);
}

std::uint32_t Topology::add_node(const std::string& name, bool is_switch, unsigned tier) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  if (!by_name_.emplace(name, index).second)
    throw problem(in_quotes(name) + " is the name of two nodes of the topology");
  TopologyNode node;
  node.name = name;
  node.is_switch = is_switch;
  node.tier = tier;
  nodes_.push_back(std::move(node));
  return index;
}

std::uint32_t Topology::add_port(std::uint32_t node) {
  if (nodes_[node].ports() == kMaxPorts)
    throw problem(nodes_[node].name + " has more than " + std::to_string(kMaxPorts) + " ports");
  nodes_[node].links.push_back(kNoLink);
  return nodes_[node].ports() - 1;
}

std::uint32_t Topology::connect(std::uint32_t a, std::uint32_t b, LinkClass link_class,
                                const LinkTraits& own) {
  if (links_.size() == kMaxLinks)
    throw problem("the topology has more than " + std::to_string(kMaxLinks) + " links");
  const auto index = static_cast<std::uint32_t>(links_.size());
  TopologyLink link;
  link.a = {a, add_port(a)};
  link.b = {b, add_port(b)};
  link.link_class = link_class;
  link.own = own;
  nodes_[a].links[link.a.port] = index;
  nodes_[b].links[link.b.port] = index;
  links_.push_back(link);
  return index;
}

void Topology::set_tiers_by_distance() {
  std::vector<std::uint32_t> reached;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].tier = 0;
    if (node < end_points_) reached.push_back(node);
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t node = reached[i];
    for (std::uint32_t port = 0; port < nodes_[node].ports(); ++port) {
      if (nodes_[node].links[port] == kNoLink) continue;
      TopologyNode& next = nodes_[peer({node, port}).node];
      if (!next.is_switch || next.tier != 0) continue;
      next.tier = nodes_[node].tier + 1;
      reached.push_back(peer({node, port}).node);
    }
  }
}

std::optional<std::uint32_t> Topology::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

PortRef Topology::peer(PortRef port) const {
  const TopologyLink& link = links_[nodes_[port.node].links[port.port]];
  return link.a == port ? link.b : link.a;
}

std::string Topology::name_of(PortRef port) const {
  return nodes_[port.node].name + ".port" + std::to_string(port.port);
}

std::string Topology::link_name(std::uint32_t link) const {
  return node(links_[link].a.node).name + '-' + node(links_[link].b.node).name;
}

}  // namespace rnicsim
