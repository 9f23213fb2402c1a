// SPDX-License-Identifier: MIT
// Draws the next operation of an end: its kind, its length, the memory that it uses, its flags.
#pragma once

#include <vector>

#include "tests/scenarios/stress/two_servers.h"

namespace rnicsim::stress {

class RandomRequests {
 public:
  RandomRequests(const Settings& settings, Draws& draws) : s_(settings), draws_(draws) {}

  /// One more operation of the end; the reference model has yet to carry it out.
  Operation& make(End& end);

 private:
  Kind random_kind();
  std::uint32_t random_length();
  std::vector<std::uint32_t> cut(std::uint32_t length);
  void make_transfer(End& end, Operation& op);
  void make_read(End& end, Operation& op);
  void make_atomic(End& end, Operation& op);
  void take_target(End& end, Operation& op);

  const Settings& s_;
  Draws& draws_;
};

}  // namespace rnicsim::stress
