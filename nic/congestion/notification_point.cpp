// SPDX-License-Identifier: MIT
#include "nic/congestion/notification_point.h"

#include <algorithm>
#include <utility>

namespace rnicsim {

void NotificationConfig::describe(Fields& fields) {
  fields.field("interval", interval, range(Time(), Time::ms(10)),
               "least time between two CNPs of a queue pair");
  fields.field("dscp", dscp, range(0, 63), "of CNPs");
}

void NotificationPoint::marked(CongestionFlow& flow, const abi::QpContext& context,
                               const Packet& packet, Time ready) {
  ++marked_;
  const Time now = scheduler_.now();
  if (now < flow.next_cnp) return;
  flow.next_cnp = now + config_.interval;
  PacketRef cnp = port_.make(context, kCnpOpcode, Psn());
  cnp->bth.transport = WireTransport::kCnp;
  cnp->bth.becn = true;
  cnp->ipv4.dscp = config_.dscp;
  cnp->ipv4.ecn = Ecn::kNotCapable;
  cnp->payload_elided = packet.payload_elided;
  cnp->set_payload_length(Bytes(kCnpReservedBytes));
  if (!cnp->payload_elided) std::fill_n(cnp->payload(), kCnpReservedBytes, std::uint8_t{0});
  mac_tx_.enqueue(std::move(cnp), std::max(ready, now), MacTx::Queue::kResponse);
  ++sent_;
}

void NotificationPoint::report(const MetricScope& scope) const {
  scope.count("np_ecn_marked_roce_packets", marked_,
              "packets received that a switch had marked: congestion experienced");
  scope.count("np_cnp_sent", sent_, "congestion notification packets sent");
}

}  // namespace rnicsim
