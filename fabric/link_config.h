// SPDX-License-Identifier: MIT
// The settings of a cable.
#pragma once

#include <optional>

#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

struct LinkConfig {
  BitRate rate = BitRate::gbps(100);
  Length length = Length::m(3);
  std::optional<Time> delay;
  Bytes mtu{4200};  ///< largest frame: destination address to FCS, or LRH to VCRC
  void describe(Fields& fields);
  /// One way.
  Time propagation() const { return delay.value_or(length.propagation()); }
};

}  // namespace rnicsim
