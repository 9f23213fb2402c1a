// SPDX-License-Identifier: MIT
#include "fabric/link_config.h"

namespace rnicsim {

void LinkConfig::describe(Fields& fields) {
  fields.field("rate", rate, range(BitRate(1000000), BitRate::gbps(3200)),
               "data rate, the same in both directions");
  fields.field("length", length, range(Length(0), Length::m(100000)),
               "length of the cable, 5 ns a metre");
  fields.optional("delay", delay, range(Time(), Time::ms(100)),
                  "propagation one way, in place of what the length gives");
  fields.field("mtu", mtu, range(Bytes(64), Bytes(9216)),
               "largest frame: destination address to FCS, or of InfiniBand LRH to VCRC");
}

}  // namespace rnicsim
