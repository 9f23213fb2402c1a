// SPDX-License-Identifier: MIT
// Ingress classification: which of the eight priorities a frame has, by the DSCP of its IP header
// (traffic class of GRH and IPv6) or by the PCP of its 802.1Q tag. If nothing else is said, the
// upper three bits of the DSCP (class selector, RFC 2474), and a tag's PCP as it is; frames without
// a tag have priority 0 where the PCP counts. On InfiniBand's links the priority is the virtual
// lane, and that the packet's service level modulo the number of lanes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/config_reader.h"
#include "model/nic_abi.h"
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
  /// On InfiniBand service levels choose among so many lanes, whatever else is configured.
  static PriorityMap on(LinkLayer link_layer, const PriorityMapConfig& config, std::uint8_t lanes) {
    return link_layer == LinkLayer::kInfiniBand ? of_service_levels(lanes) : PriorityMap(config);
  }

  std::uint8_t of(const Packet& packet) const {
    if (from_ == Source::kDscp) return by_value_[packet.ipv4.dscp & 63];
    if (from_ == Source::kServiceLevel) return by_value_[packet.lrh.service_level & 15];
    return packet.tagged ? by_value_[packet.vlan.priority & 7] : std::uint8_t{0};
  }
  /// Of a queue pair whose frames have no tag.
  std::uint8_t of(const abi::QpContext& context) const {
    if (from_ == Source::kDscp) return by_value_[context.dscp & 63];
    if (from_ == Source::kServiceLevel) return by_value_[context.service_level & 15];
    return 0;
  }
  /// Of a frame without a tag. REQUIRES: Ethernet.
  std::uint8_t of_dscp(std::uint8_t dscp) const {
    return from_ == Source::kDscp ? by_value_[dscp & 63] : std::uint8_t{0};
  }

 private:
  enum class Source : std::uint8_t { kDscp, kPcp, kServiceLevel };
  PriorityMap() = default;
  static PriorityMap of_service_levels(std::uint8_t lanes);

  Source from_ = Source::kDscp;
  std::array<std::uint8_t, 64> by_value_{};
};

}  // namespace rnicsim
