// SPDX-License-Identifier: MIT
// The Ethernet addresses that a router has for the IP addresses at its own ports, each valid for
// the ageing time since it was last asked for (RFC 826; routers keep them for hours, where a bridge
// forgets after minutes). Packets for an address whose entry is incomplete are dropped.
//
// Approximates: requests and replies are not on the wire and take no time. An end point that the
// MAC table (fabric/mac_table) still knows answers at once; one that has been silent for longer is
// taken for dead, until it is heard.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

struct ArpTableConfig {
  Time ageing = Time::s(14400);
  bool initially_complete = true;
  void describe(Fields& fields);
};

class ArpTable {
 public:
  ArpTable(const ArpTableConfig& config, std::uint32_t end_points);

  /// Whether the address is known, asked for again if need be; `answers`: the end point would.
  bool resolve(std::uint32_t end_point, bool answers, Time now);

 private:
  Time ageing_;
  std::vector<Time> valid_until_;  ///< by end point
};

}  // namespace rnicsim
