// SPDX-License-Identifier: MIT
// A cable that fails at a given time and may come back, and how soon the network takes notice.
//
// Assumed, as no standard says them and devices differ by orders of magnitude: the defaults of
// `detection` (loss of signal, seen by hardware) and `convergence` (a fast routing protocol;
// usual ones take 10 ms to seconds).
#pragma once

#include <optional>
#include <string>

#include "fabric/topology.h"
#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

struct LinkFailure {
  std::string link;  ///< a glob of link names
  Time at;
  std::optional<Time> until;
  Time detection = Time::us(10);
  Time convergence = Time::ms(1);
  void describe(Fields& fields);

  /// Either end may come first: "leaf0-spine1" and "spine1-leaf0" are the same.
  bool acts_on(const Topology& topology, std::uint32_t link_number) const;
};

}  // namespace rnicsim
