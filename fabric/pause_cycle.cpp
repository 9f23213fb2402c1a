// SPDX-License-Identifier: MIT
#include "fabric/pause_cycle.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rnicsim {

namespace {

/// Depth-first search; a port that is met again while it is on the path closes a cycle.
class CycleSearch {
 public:
  CycleSearch(const Topology& topology, const std::vector<std::unique_ptr<Switch>>& switches)
      : topology_(topology), switches_(switches) {}

  std::vector<PausedPort> run() {
    for (std::uint32_t i = 0; i < switches_.size(); ++i) {
      for (std::uint16_t port = 0; port < switches_[i]->ports(); ++port) {
        const PrioritySet held_up = switches_[i]->egress(port).held_up();
        for (std::uint8_t p = 0; p < kPriorities; ++p)
          if (contains(held_up, p) && visit({{topology_.end_points() + i, port}, p})) return cycle_;
      }
    }
    return {};
  }

 private:
  using Key = std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint8_t>;
  static Key key_of(const PausedPort& at) { return {{at.port.node, at.port.port}, at.priority}; }
  Switch& switch_at(std::uint32_t node) const { return *switches_[node - topology_.end_points()]; }

  bool visit(const PausedPort& at) {
    const auto [state, is_new] = states_.emplace(key_of(at), true);
    if (!is_new) {
      if (!state->second) return false;
      const auto begin = std::find_if(path_.begin(), path_.end(), [&](const PausedPort& other) {
        return key_of(other) == key_of(at);
      });
      cycle_.assign(begin, path_.end());
      return true;
    }
    path_.push_back(at);
    const PortRef peer = topology_.peer(at.port);
    if (topology_.node(peer.node).is_switch) {
      Switch& behind = switch_at(peer.node);
      for (std::uint16_t port = 0; port < behind.ports(); ++port) {
        const Egress& egress = behind.egress(port);
        if (contains(egress.held_up(), at.priority) &&
            behind.holds_from(port, static_cast<std::uint16_t>(peer.port), at.priority) &&
            visit({{peer.node, port}, at.priority}))
          return true;
      }
    }
    path_.pop_back();
    states_[key_of(at)] = false;
    return false;
  }

  const Topology& topology_;
  const std::vector<std::unique_ptr<Switch>>& switches_;
  std::map<Key, bool> states_;  ///< true while on the path
  std::vector<PausedPort> path_;
  std::vector<PausedPort> cycle_;
};

}  // namespace

std::vector<PausedPort> find_pause_cycle(const Topology& topology,
                                         const std::vector<std::unique_ptr<Switch>>& switches) {
  return CycleSearch(topology, switches).run();
}

}  // namespace rnicsim
