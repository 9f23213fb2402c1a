// SPDX-License-Identifier: MIT
// What a port of a switch counts of the packets that come in by it, and why it dropped them.
#pragma once

#include <cstdint>

#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

struct SwitchCounters {
  std::uint64_t packets = 0;
  Bytes bytes;
  std::uint64_t dropped = 0;  ///< whatever for
  Bytes dropped_bytes;
  std::uint64_t crc_errors = 0;
  std::uint64_t no_room = 0;
  std::uint64_t no_way = 0;
  std::uint64_t not_routable = 0;
  std::uint64_t expired = 0;
  std::uint64_t unknown = 0;
  std::uint64_t unresolved = 0;
  std::uint64_t flooded = 0;
  std::uint64_t not_ours = 0;
  std::uint64_t stormed = 0;

  /// `learns`: the switch has a MAC table.
  void report(const MetricScope& scope, bool learns) const;
};

}  // namespace rnicsim
