// SPDX-License-Identifier: MIT
#include "fabric/buffer_dependency.h"

#include <algorithm>

namespace rnicsim {
namespace {

/// Ports of all switches, numbered through. A port stands for the buffer that it sends to.
class DependencyGraph {
 public:
  DependencyGraph(const Topology& topology, const Routes& routes)
      : topology_(topology), routes_(routes) {
    first_port_.reserve(topology.switches());
    ports_.reserve(2 * topology.links().size());
    for (std::uint32_t node = topology.end_points(); node < topology.nodes().size(); ++node) {
      first_port_.push_back(static_cast<std::uint32_t>(ports_.size()));
      for (std::uint32_t port = 0; port < topology.node(node).ports(); ++port)
        ports_.push_back({node, port});
    }
    waits_for_.resize(ports_.size());
    collect();
  }

  std::vector<PortRef> cycle() {
    state_.assign(ports_.size(), kNew);
    for (std::uint32_t port = 0; port < ports_.size(); ++port) {
      if (state_[port] != kNew) continue;
      std::vector<std::uint32_t> found = search(port);
      if (found.empty()) continue;
      std::rotate(found.begin(), std::min_element(found.begin(), found.end()), found.end());
      std::vector<PortRef> cycle;
      cycle.reserve(found.size());
      for (const std::uint32_t one : found) cycle.push_back(ports_[one]);
      return cycle;
    }
    return {};
  }

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  enum State : std::uint8_t { kNew, kOnPath, kDone };

  std::uint32_t number_of(PortRef port) const {
    return first_port_[port.node - topology_.end_points()] + port.port;
  }

  bool leads_to_switch(PortRef port) const {
    return topology_.node(topology_.peer(port).node).is_switch;
  }

  /// One destination of each switch stands for all: they differ in the last port only.
  void collect() {
    std::vector<bool> done(topology_.nodes().size());
    std::vector<std::uint32_t> sources;
    for (std::uint32_t nic = 0; nic < topology_.end_points(); ++nic) {
      const std::uint32_t home = home_of(nic);
      if (home == kNowhere || done[home]) continue;
      done[home] = true;
      sources.push_back(nic);
    }
    for (const std::uint32_t destination : sources) collect_towards(destination, sources);
    for (std::vector<std::uint32_t>& next : waits_for_) {
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
    }
  }

  /// The switch that it is plugged into; none if that link has failed.
  std::uint32_t home_of(std::uint32_t nic) const {
    const TopologyNode& node = topology_.node(nic);
    if (node.ports() == 0 || node.links[0] == kNoLink) return kNowhere;
    const std::uint32_t peer = topology_.peer({nic, 0}).node;
    if (!topology_.node(peer).is_switch || routes_.ports(peer, nic).empty()) return kNowhere;
    return peer;
  }

  /// Follows the packets for one destination from all sources.
  void collect_towards(std::uint32_t destination, const std::vector<std::uint32_t>& sources) {
    std::vector<bool> seen(topology_.nodes().size());
    std::vector<std::uint32_t> open;
    const auto visit = [&](std::uint32_t node) {
      if (seen[node]) return;
      seen[node] = true;
      open.push_back(node);
    };
    for (const std::uint32_t source : sources) visit(home_of(source));
    while (!open.empty()) {
      const std::uint32_t node = open.back();
      open.pop_back();
      for (const std::uint16_t port : routes_.ports(node, destination)) {
        const PortRef out{node, port};
        if (!leads_to_switch(out)) continue;
        const std::uint32_t next = topology_.peer(out).node;
        visit(next);
        for (const std::uint16_t next_port : routes_.ports(next, destination))
          if (leads_to_switch({next, next_port})) add(number_of(out), number_of({next, next_port}));
      }
    }
  }

  void add(std::uint32_t port, std::uint32_t next) {
    std::vector<std::uint32_t>& known = waits_for_[port];
    if (std::find(known.begin(), known.end(), next) == known.end()) known.push_back(next);
  }

  /// Depth first from `start`; the cycle that it closes first, if any.
  std::vector<std::uint32_t> search(std::uint32_t start) {
    std::vector<std::pair<std::uint32_t, std::size_t>> path = {{start, 0}};  // port, next to try
    state_[start] = kOnPath;
    while (!path.empty()) {
      auto& [port, tried] = path.back();
      if (tried == waits_for_[port].size()) {
        state_[port] = kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t next = waits_for_[port][tried++];
      if (state_[next] == kOnPath) {
        std::vector<std::uint32_t> cycle;
        for (std::size_t i = path.size(); i-- > 0;) {
          cycle.insert(cycle.begin(), path[i].first);
          if (path[i].first == next) return cycle;
        }
      }
      if (state_[next] != kNew) continue;
      state_[next] = kOnPath;
      path.emplace_back(next, 0);
    }
    return {};
  }

  const Topology& topology_;
  const Routes& routes_;
  std::vector<PortRef> ports_;
  std::vector<std::uint32_t> first_port_;  ///< by switch
  std::vector<std::vector<std::uint32_t>> waits_for_;
  std::vector<State> state_;
};

}  // namespace

std::vector<PortRef> find_dependency_cycle(const Topology& topology, const Routes& routes) {
  return DependencyGraph(topology, routes).cycle();
}

}  // namespace rnicsim
