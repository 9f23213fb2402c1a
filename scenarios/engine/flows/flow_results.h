// SPDX-License-Identifier: MIT
// What flows make of the network, in numbers: how long each would have taken alone, and what the
// distribution of times and slowdowns is.
//
// Ideal: first bit on the sender's cable to last bit at the receiver's port, nothing else under
// way. Propagation of every cable, latency of every switch, the first packet once more on every
// cable but the slowest (of a switch that cuts through only its first 64 B), and all bytes of all
// packets, preambles and gaps included, on the slowest; of a READ
// counted from the first bit of its answer. Neither the NICs nor the acknowledgement's
// way back are in it, so that a slowdown of short flows shows them. Percentiles: nearest rank.
#pragma once

#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/units.h"
#include "scenarios/engine/flows/flow_sizes.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

/// How a flow is cut into packets.
struct FlowPackets {
  Bytes path_mtu{4096};
  Bytes message_size{1 << 20};
  LinkLayer link_layer = LinkLayer::kRoceV2;
  IpVersion ip_version = IpVersion::kIpv4;
  Bytes tag{};  ///< of a VLAN
  Operation operation = Operation::kWrite;

  /// Preamble to gap of a packet; `extended`: with the header that the first packet of a WRITE and
  /// the first and last of a READ's answer have beside the BTH.
  Bytes on_wire(Bytes payload, bool extended) const;
  /// Of all packets of a flow.
  Bytes on_wire(Bytes flow) const;
};

/// REQUIRES: there is a hop.
Time ideal_time(const std::vector<Fabric::Hop>& hops, const FlowPackets& packets, Bytes flow);

class FlowStatistics {
 public:
  /// Of those that have finished.
  explicit FlowStatistics(const std::vector<FlowRecord>& flows);
  /// Under `scope` ("workload.w0.flows"); `sizes` gives the bins of slowdowns.
  void report(const MetricScope& scope, MetricSink& sink, const std::string& path,
              const std::vector<FlowSizes::Point>& sizes) const;

 private:
  struct One {
    std::uint64_t bytes;
    Time time;
    double slowdown;
  };
  std::vector<One> flows_;
  std::uint64_t count_ = 0;
  Bytes bytes_;
  Time begin_ = Time::never();
  Time end_;
};

}  // namespace rnicsim
