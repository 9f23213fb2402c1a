// SPDX-License-Identifier: MIT
// Ingress classification: which of the eight priorities a frame has, by the DSCP of its IP header
// (traffic class of GRH and IPv6) or by the PCP of its 802.1Q tag. If nothing else is said, the
// upper three bits of the DSCP (class selector, RFC 2474), and a tag's PCP as it is; frames without
// a tag have priority 0 where the PCP counts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/config_reader.h"
#include "model/packet.h"
#include "model/pause_frame.h"

namespace rnicsim {

enum class PriorityFrom : std::uint8_t { kDscp, kPcp };

struct PriorityMapEntry {
  std::uint8_t value = 0;
  std::uint8_t priority = 0;
  void describe(Fields& fields);
};

struct PriorityMapConfig {
  PriorityFrom from = PriorityFrom::kDscp;
  std::vector<PriorityMapEntry> map;
  void describe(Fields& fields);
};

class PriorityMap {
 public:
  explicit PriorityMap(const PriorityMapConfig& config);
  std::uint8_t of(const Packet& packet) const {
    if (from_ == PriorityFrom::kPcp && packet.tagged) return by_value_[packet.vlan.priority & 7];
    return of_untagged(packet.ipv4.dscp);
  }
  /// Of a frame without a tag.
  std::uint8_t of_untagged(std::uint8_t dscp) const {
    return from_ == PriorityFrom::kDscp ? by_value_[dscp & 63] : std::uint8_t{0};
  }

 private:
  PriorityFrom from_;
  std::array<std::uint8_t, 64> by_value_{};
};

}  // namespace rnicsim
