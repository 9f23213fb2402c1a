// SPDX-License-Identifier: MIT
// The completion and event queues of a mini driver (see mini_driver.h): made, armed, and read as
// software reads them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/nic_abi.h"
#include "model/units.h"
#include "tests/support/mini_commands.h"

namespace rnicsim::test {

class MiniCompletions {
 public:
  explicit MiniCompletions(MiniCommands& commands) : commands_(commands) {}

  /// `wanted`: events and moderation; the rest is made here.
  void add_cq(Cqn cqn, std::uint8_t log_size = 4, const abi::CqContext& wanted = {});
  /// Events from the first entry on that poll() has not found.
  void arm_cq(Cqn cqn, bool solicited_only = false);
  abi::CommandStatus modify_cq(Cqn cqn, std::uint16_t count, std::uint16_t period_us);
  const abi::CqContext& cq(Cqn cqn) const { return cqs_.at(cqn.value()); }
  std::uint64_t cq_ring(Cqn cqn) const { return cq(cqn).ring.value(); }
  /// The entries that software would find next, in order; each is consumed.
  std::vector<abi::Cqe> poll(Cqn cqn);

  /// Its interrupt messages go to a place in memory.
  void add_eq(std::uint32_t eqn, std::uint8_t log_size = 4);
  void arm_eq(std::uint32_t eqn);
  const abi::EqContext& eq(std::uint32_t eqn) const { return eqs_.at(eqn).context; }
  /// The events that software would find next, in order; each is consumed.
  std::vector<abi::Eqe> events(std::uint32_t eqn);

 private:
  struct Eq {
    abi::EqContext context;
    std::uint32_t consumer = 0;
  };

  MiniCommands& commands_;
  std::map<std::uint32_t, abi::CqContext> cqs_;
  std::map<std::uint32_t, std::uint32_t> consumers_;
  std::map<std::uint32_t, Eq> eqs_;
};

}  // namespace rnicsim::test
