// SPDX-License-Identifier: MIT
// Flows: so many bytes from one end point of the fabric to another, begun at a time or by the end
// of other flows. Plain data; flow_patterns, flow_list and
// flow_file make them, flow_run carries them out.
#pragma once

#include <cstdint>
#include <vector>

#include "model/units.h"

namespace rnicsim {

struct Flow {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint8_t kNoPriority = UINT8_MAX;
  static constexpr std::uint16_t kUsualPort = 100;

  std::uint32_t source = 0;       ///< end point, which is the number of a NIC
  std::uint32_t destination = 0;  ///< likewise
  Bytes bytes{1};
  Time start;                         ///< counted from when all are connected, or its trigger
  std::uint32_t trigger = kNone;      ///< what begins it
  std::uint32_t on_sent = kNone;      ///< the trigger that its end pulls
  std::uint32_t on_received = kNone;  ///< one more
  std::uint16_t port = kUsualPort;    ///< HPCC's dport, for its scripts
  std::uint8_t priority = kNoPriority;
};

/// Begins flows when it has been pulled.
struct FlowTrigger {
  bool one_by_one = false;   ///< each pull begins the next flow, in the order of the flows
  std::uint32_t needed = 1;  ///< otherwise: so many pulls begin all of them
};

/// One more trigger that the end of a flow pulls.
struct FlowPull {
  std::uint32_t flow = 0;
  std::uint32_t trigger = 0;
};

struct FlowPlan {
  std::vector<Flow> flows;
  std::vector<FlowTrigger> triggers;
  std::vector<FlowPull> pulls;  ///< by flow
};

constexpr std::size_t kMaxFlows = 10'000'000;

}  // namespace rnicsim
