// SPDX-License-Identifier: MIT
// The settings of a cable.
#pragma once

#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

struct LinkConfig {
  BitRate rate = BitRate::gbps(100);
  Length length = Length::m(3);
  Bytes mtu{4200};  ///< largest Ethernet frame, destination address to FCS
  void describe(Fields& fields);
};

}  // namespace rnicsim
