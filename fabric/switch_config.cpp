// SPDX-License-Identifier: MIT
#include "fabric/switch_config.h"

namespace rnicsim {

void SwitchConfig::describe(Fields& fields) {
  fields.field("clock", clock, range(Frequency::mhz(1), Frequency::mhz(10000)), "of its pipeline");
  fields.field(
      "latency", latency, range(Cycles(0), Cycles(100000)),
      "from the last bit in (cut-through: the first 64 B) to the first bit out, if nothing "
      "is in the way");
  fields.field("cut_through", cut_through,
               "a packet may leave before it has come whole, so that its end has come when it is "
               "to leave");
  fields.choice("forwarding", forwarding,
                {{"routed", Forwarding::kRouted}, {"bridged", Forwarding::kBridged}},
                "by IP address, as a router, or by Ethernet address, as a bridge");
  fields.choice("path_choice", path_choice,
                {{"ecmp", PathChoice::kEcmp},
                 {"spray", PathChoice::kSpray},
                 {"adaptive", PathChoice::kAdaptive}},
                "which of several shortest ways: by flow, at random for each packet, or by the "
                "least waiting");
  fields.object("priorities", priorities, "ingress classification");
  describe_priorities(fields, "lossless", lossless,
                      "priorities that are paused rather than dropped");
  fields.object("buffer", buffer, "packet memory");
  fields.optional("headroom", headroom, range(Bytes(0), Bytes(1ULL << 30)),
                  "room behind XOFF of each lossless priority of each port; if not given, what the "
                  "port's rate, cable, frame size and response time, the latency and the cell ask "
                  "for");
  fields.object("egress", egress, "scheduling, marking and pausing at each port");
}

}  // namespace rnicsim
