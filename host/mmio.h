// SPDX-License-Identifier: MIT
// The CPU's way to a device's registers, as driver and verbs see it: posted writes into the
// device's BAR. Whoever owns the link (host/pcie_link) implements it and adds the time to the
// device.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace rnicsim {

class MmioPort {
 public:
  virtual ~MmioPort() = default;
  /// The store leaves the core at `at` (not before now); stores arrive in the order of the calls.
  virtual void mmio_write(Time at, std::uint64_t bar_offset, const std::uint8_t* data,
                          unsigned bytes) = 0;
};

}  // namespace rnicsim
