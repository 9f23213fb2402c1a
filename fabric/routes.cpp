// SPDX-License-Identifier: MIT
#include "fabric/routes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "fabric/nic_places.h"

namespace rnicsim {

/// Fills a Routes: one search for each switch that has end points, backwards from it.
class RouteFinder {
 public:
  RouteFinder(const Topology& topology, Routes& routes)
      : topology_(topology), routes_(routes), switches_(topology.switches()) {}

  void run() {
    find_homes();
    index_links();
    routes_.columns_ = static_cast<std::uint32_t>(homes_.size());
    const std::size_t entries = std::size_t{switches_} * homes_.size();
    if (homes_.size() > UINT16_MAX || entries > kMaxEntries)
      throw topology_error(
          "topology", "has too many switches for a table of routes: " + std::to_string(switches_));
    routes_.table_.assign(entries, 0);
    for (std::uint32_t column = 0; column < homes_.size(); ++column) {
      measure(homes_[column]);
      fill(column);
    }
  }

 private:
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 26;
  static constexpr std::uint32_t kFar = UINT32_MAX;
  /// A path has fewer links than this, so that global links are what counts first.
  static constexpr std::uint32_t kGlobalCost = 1U << 16;

  /// A way from one switch to another, seen from either.
  struct Step {
    std::uint32_t other;  ///< switch, counted from the first one
    std::uint32_t cost;
    std::uint16_t port;  ///< of the switch that sends
  };

  bool is_usable(std::uint32_t link) const { return link != kNoLink && !routes_.failed_[link]; }

  void find_homes() {
    routes_.homes_.resize(topology_.end_points());
    std::map<std::uint32_t, std::uint16_t> columns;
    for (std::uint32_t nic = 0; nic < topology_.end_points(); ++nic) {
      if (topology_.node(nic).ports() == 0 || !is_usable(topology_.node(nic).links[0])) continue;
      const PortRef peer = topology_.peer({nic, 0});
      if (!topology_.node(peer.node).is_switch) continue;
      const auto [column, is_new] =
          columns.emplace(peer.node, static_cast<std::uint16_t>(homes_.size()));
      if (is_new) homes_.push_back(peer.node - topology_.end_points());
      routes_.homes_[nic] = {peer.node, column->second, static_cast<std::uint16_t>(peer.port)};
    }
  }

  void index_links() {
    out_.resize(switches_);
    in_.resize(switches_);
    for (std::uint32_t from = 0; from < switches_; ++from) {
      const std::uint32_t node = from + topology_.end_points();
      for (std::uint32_t port = 0; port < topology_.node(node).ports(); ++port) {
        const std::uint32_t number = topology_.node(node).links[port];
        if (!is_usable(number)) continue;
        const TopologyLink& link = topology_.links()[number];
        const PortRef here{node, port};
        const PortRef peer = topology_.peer(here);
        if (!topology_.node(peer.node).is_switch || (link.own.one_way && link.a != here)) continue;
        const std::uint32_t to = peer.node - topology_.end_points();
        const std::uint32_t cost = link.link_class == LinkClass::kGlobal ? kGlobalCost + 1 : 1;
        out_[from].push_back({to, cost, static_cast<std::uint16_t>(port)});
        in_[to].push_back({from, cost, static_cast<std::uint16_t>(port)});
      }
    }
  }

  /// Distance of every switch to `target`.
  void measure(std::uint32_t target) {
    using Entry = std::pair<std::uint32_t, std::uint32_t>;  // distance, switch
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
    distance_.assign(switches_, kFar);
    distance_[target] = 0;
    next.emplace(0, target);
    while (!next.empty()) {
      const auto [distance, node] = next.top();
      next.pop();
      if (distance != distance_[node]) continue;
      for (const Step& step : in_[node]) {
        if (distance + step.cost >= distance_[step.other]) continue;
        distance_[step.other] = distance + step.cost;
        next.emplace(distance + step.cost, step.other);
      }
    }
  }

  void fill(std::uint32_t column) {
    for (std::uint32_t node = 0; node < switches_; ++node) {
      group_.clear();
      if (distance_[node] != kFar)
        for (const Step& step : out_[node])
          if (distance_[step.other] != kFar && distance_[step.other] + step.cost == distance_[node])
            group_.push_back(step.port);
      routes_.table_[std::size_t{node} * routes_.columns_ + column] = entry_of(group_);
    }
  }

  std::uint32_t entry_of(const std::vector<std::uint16_t>& group) {
    if (group.empty()) return 0;
    const auto [known, is_new] = known_.emplace(group, 0);
    if (!is_new) return known->second;
    const std::size_t first = routes_.group_ports_.size();
    if (group.size() >= (std::size_t{1} << Routes::kSizeBits) ||
        first >= (std::size_t{1} << (32 - Routes::kSizeBits)))
      throw topology_error("topology",
                           "has too many equally short paths: " + std::to_string(group.size()) +
                               " from one switch, " + std::to_string(known_.size()) + " groups");
    routes_.group_ports_.insert(routes_.group_ports_.end(), group.begin(), group.end());
    known->second = static_cast<std::uint32_t>(first << Routes::kSizeBits | group.size());
    return known->second;
  }

  const Topology& topology_;
  Routes& routes_;
  std::uint32_t switches_;
  std::vector<std::uint32_t> homes_;    ///< switch of each column
  std::vector<std::vector<Step>> out_;  ///< by switch, in the order of its ports
  std::vector<std::vector<Step>> in_;
  std::vector<std::uint32_t> distance_;
  std::vector<std::uint16_t> group_;
  std::map<std::vector<std::uint16_t>, std::uint32_t> known_;
};

Routes::Routes(const Topology& topology, const std::vector<std::uint32_t>& failed)
    : first_switch_(topology.end_points()), failed_(topology.links().size()) {
  for (const std::uint32_t link : failed) failed_[link] = true;
  RouteFinder(topology, *this).run();
}

std::vector<PortRef> Routes::first_path(const Topology& topology, std::uint32_t from,
                                        std::uint32_t to) const {
  const std::uint32_t cable =
      topology.node(from).ports() == 0 ? kNoLink : topology.node(from).links[0];
  if (cable == kNoLink || failed_[cable]) return {};
  std::vector<PortRef> path = {{from, 0}};
  for (PortRef at = topology.peer({from, 0}); at.node != to; at = topology.peer(path.back())) {
    if (!topology.node(at.node).is_switch) return {};
    const PortGroup group = ports(at.node, to);
    if (group.empty()) return {};
    path.push_back({at.node, group[0]});
  }
  return path;
}

}  // namespace rnicsim
