// SPDX-License-Identifier: MIT
// What switches do about cables that fail and come back.
//
//   at                the cable loses what is on it and what is sent into it (fault_injector)
//   at + detection    a switch at its end drops what waits in the dead port's queues, as the packet
//                     memory of usual switches does, and takes the port out of its groups; a packet
//                     for which no other way is left is dropped there
//   at + convergence  all switches have the routes of the topology without the cable
//   until + ...       the same backwards
//
// The ways of a group are chosen anew when it shrinks or grows, so that flows of other ways may
// move, too (no resilient hashing).
// Approximates: all switches have their new routes at one instant, so that no loops come and go.
// Ignores: the protocol itself and its packets; NICs, which go on sending into a dead cable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fault_config.h"
#include "fabric/link_failure_config.h"
#include "fabric/routes.h"
#include "fabric/switch.h"
#include "fabric/topology.h"
#include "model/scheduler.h"

namespace rnicsim {

class LinkFailures {
 public:
  /// Schedules all of them, as daemons: a run does not wait for a failure.
  LinkFailures(Scheduler& scheduler, const Topology& topology,
               std::vector<std::unique_ptr<Switch>>& switches,
               const std::vector<LinkFailure>& failures);

  /// What failure `number` does to the packets that are sent into the cable.
  static FaultRule rule_of(const LinkFailure& failure, std::size_t number, Time propagation);

  /// The name of that rule.
  static std::string label_of(std::size_t number) { return "failures." + std::to_string(number); }

  std::size_t count() const { return failures_.size(); }
  const LinkFailure& failure(std::size_t number) const { return failures_[number].config; }
  std::size_t links(std::size_t number) const { return failures_[number].links.size(); }
  /// Packets that waited in the queues of its ports.
  std::uint64_t dropped(std::size_t number) const { return failures_[number].dropped; }
  bool is_down(std::uint32_t link) const;
  /// What all switches know now; null as long as nothing has changed.
  const Routes* routes() const { return routes_.get(); }

 private:
  struct Failure {
    LinkFailure config;
    std::vector<std::uint32_t> links;
    std::uint64_t dropped = 0;
  };
  void lose(std::uint64_t number);
  void regain(std::uint64_t number);
  std::uint64_t set_up(std::uint32_t link, bool up);
  void withdraw(std::uint64_t number);
  void announce(std::uint64_t number);
  void converge();

  Scheduler& scheduler_;
  const Topology& topology_;
  std::vector<std::unique_ptr<Switch>>& switches_;
  std::vector<Failure> failures_;
  std::vector<std::uint32_t> detected_;   ///< by link: failures that its ends know of
  std::vector<std::uint32_t> withdrawn_;  ///< by link: failures that all switches know of
  std::unique_ptr<Routes> routes_;
};

}  // namespace rnicsim
