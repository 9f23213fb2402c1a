// SPDX-License-Identifier: MIT
#include "nic/port_config.h"

namespace rnicsim {

void PauseWatchdogConfig::describe(Fields& fields) {
  fields.field("interval", interval, range(Time::us(1), Time::s(100)),
               "a link that is paused for so long without a break is in a pause storm");
  fields.choice("action", action,
                {{"alert", Action::kAlert}, {"stop_pausing", Action::kStopPausing}},
                "alert: the run reports it, no more; stop_pausing: a priority that this port has "
                "paused for so long is lossy from then on");
}

void PortConfig::describe(Fields& fields) {
  fields.object("priorities", priorities, "which priority a packet has");
  describe_priorities(
      fields, "lossless", lossless,
      "priorities whose sender is paused before the receive buffer is full; packets "
      "of others are dropped when it is");
  fields.list("weights", weights, ListLimits{0, kPriorities},
              "priorities that share bandwidth by weight (ETS); those not listed are strict, the "
              "highest number first");
  fields.object("pause", pause, "how the port pauses and is paused");
  fields.object("watchdog", watchdog, "against pauses without end");
  fields.optional(
      "headroom", headroom, range(Bytes(0), Bytes(1ULL << 30)),
      "room of each lossless priority behind XOFF; if not given, what rate, cable, frame "
      "size and response time ask for");
  fields.optional("vlan", vlan, range(1, 4094),
                  "frames are sent with an 802.1Q tag: this VLAN, and their priority as PCP");
  fields.check(!vlan || priorities.from == PriorityFrom::kDscp, "vlan",
               "takes the PCP from the DSCP's priority: \"priorities.from\" must be \"dscp\"");
}

}  // namespace rnicsim
