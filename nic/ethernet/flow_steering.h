// SPDX-License-Identifier: MIT
// To which receive queue a flow goes: that of its rule, if software has set one (what Linux calls
// flow steering, and accelerated RFS where the stack sets rules by itself), else that which the
// RSS hash finds in an indirection table of 128 places, which the queues that take part share in
// the order of their numbers; without RSS the first of all.
//
// Models: the table and the rules as on-chip memory: a look-up takes no time of its own.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/ethernet_abi.h"
#include "nic/ethernet/ethernet_config.h"
#include "nic/ethernet/flow_hash.h"

namespace rnicsim {

class FlowSteering {
 public:
  static constexpr std::uint32_t kNoQueue = ~std::uint32_t{0};

  explicit FlowSteering(const EthernetConfig& config)
      : rss_(config.rss), rules_(config.flow_rules) {}

  /// A receive queue is there, or gone with the rules that name it.
  void add_queue(std::uint32_t queue, bool takes_part);
  void remove_queue(std::uint32_t queue);
  /// False: there is no such number, the flow has another rule, or no such queue.
  bool set_rule(std::uint32_t number, const abi::EthernetFlowRule& rule);
  /// False: there is no such rule.
  bool clear_rule(std::uint32_t number);
  void reset();

  struct Choice {
    std::uint32_t queue = kNoQueue;
    std::uint32_t hash = 0;
  };
  Choice choose(const FlowKey& flow);
  /// As choose() would say; counts nothing.
  std::uint32_t queue_of(const FlowKey& flow, std::uint32_t hash) const;
  std::uint64_t ruled() const { return ruled_; }

 private:
  static constexpr std::size_t kPlaces = 128;
  struct Hash {
    std::size_t operator()(const FlowKey& flow) const { return flow_hash(flow); }
  };
  struct Member {
    std::uint32_t queue;
    bool takes_part;
  };
  struct Rule {
    FlowKey flow;
    bool valid = false;
  };
  void spread();
  std::uint32_t unruled(std::uint32_t hash) const;
  bool has(std::uint32_t queue) const;

  bool rss_;
  std::vector<Member> queues_;  ///< in the order of their numbers
  std::array<std::uint32_t, kPlaces> table_{};
  bool spreads_ = false;  ///< somebody takes part
  std::uint32_t rules_;   ///< so many there may be
  std::vector<Rule> by_number_;
  std::unordered_map<FlowKey, std::uint32_t, Hash> by_flow_;
  std::uint64_t ruled_ = 0;
};

}  // namespace rnicsim
