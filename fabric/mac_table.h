// SPDX-License-Identifier: MIT
// What a switch has heard: by which port frames of an end point came last, as IEEE 802.1Q bridges
// learn it from source addresses, and forgotten when nothing has been heard for the ageing time.
// Without a MacTable a switch knows every end point for ever, and nothing is looked up.
//
// A frame for an end point that is not in the table goes, by name: "flood": to every other port;
// "drop": nowhere; "drop_lossless": nowhere if its priority is lossless, else to every port (Guo et
// al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.2: flooded lossless frames
// can make ports wait for one another in a circle).
//
// A bridge looks every destination up. A router does it for end points at its own ports, whose
// Ethernet address it has from its ARP table (fabric/arp_table): the rest it forwards by IP
// address.
//
// Approximates: the table has a place for every end point; ageing is exact, where a real one looks
// through its table now and then.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config_reader.h"
#include "model/units.h"

namespace rnicsim {

enum class UnknownUnicast : std::uint8_t { kFlood, kDrop, kDropLossless };

struct MacTableConfig {
  Time ageing = Time::s(300);
  bool initially_known = true;
  UnknownUnicast unknown_unicast = UnknownUnicast::kFlood;
  void describe(Fields& fields);
};

class MacTable {
 public:
  MacTable(const MacTableConfig& config, std::uint32_t end_points);

  void learn(std::uint32_t end_point, std::uint16_t port, Time now) {
    entries_[end_point] = {port, now, true};
  }
  /// Where to; null if it has never been heard, or not for too long.
  const std::uint16_t* find(std::uint32_t end_point, Time now) const {
    const Entry& entry = entries_[end_point];
    return entry.known && now - entry.heard < ageing_ ? &entry.port : nullptr;
  }
  /// By which port it was heard last. REQUIRES: it has been.
  const std::uint16_t* last(std::uint32_t end_point) const { return &entries_[end_point].port; }

 private:
  struct Entry {
    std::uint16_t port = 0;
    Time heard;
    bool known = false;
  };
  Time ageing_;
  std::vector<Entry> entries_;  ///< by end point
};

}  // namespace rnicsim
