// SPDX-License-Identifier: MIT
// What a switch with a MAC table (and, a router, an ARP table) does with a packet before it is
// forwarded: learns from it, and judges whether its destination is known. What becomes of one that
// is flooded is fabric/flooding's affair.
#pragma once

#include <cstdint>
#include <optional>

#include "fabric/arp_table.h"
#include "fabric/mac_table.h"
#include "fabric/routes.h"
#include "model/units.h"

namespace rnicsim {

class Neighbours {
 public:
  enum class Verdict : std::uint8_t {
    kKnown,
    kFlood,
    kDropUnknown,     ///< not in the MAC table
    kDropUnresolved,  ///< the ARP entry is incomplete
  };
  Neighbours(const MacTableConfig& mac, const std::optional<ArpTableConfig>& arp,
             std::uint32_t end_points);

  /// An end point, counted from 0, is behind that port as far as anybody knows at time zero.
  void assume(std::uint32_t end_point, std::uint16_t port);
  /// A frame of that end point has come in.
  void heard(std::uint32_t end_point, std::uint16_t port, Time now) {
    mac_.learn(end_point, port, now);
  }
  Verdict judge(std::uint32_t end_point, bool lossless, Time now);
  /// The port that it was heard by. REQUIRES: it is known.
  PortGroup way_to(std::uint32_t end_point) const { return {mac_.last(end_point), 1}; }

 private:
  bool initially_known_;
  UnknownUnicast unknown_unicast_;
  MacTable mac_;
  std::optional<ArpTable> arp_;
};

}  // namespace rnicsim
