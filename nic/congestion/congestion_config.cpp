// SPDX-License-Identifier: MIT
#include "nic/congestion/congestion_config.h"

namespace rnicsim {

void CongestionControlConfig::describe(Fields& fields) {
  fields.choice("algorithm", algorithm,
                {{"none", CongestionAlgorithm::kNone},
                 {"dcqcn", CongestionAlgorithm::kDcqcn},
                 {"timely", CongestionAlgorithm::kTimely},
                 {"swift", CongestionAlgorithm::kSwift},
                 {"hpcc", CongestionAlgorithm::kHpcc}},
                "which congestion control; its parameters stand under its name");
  fields.object("notification", notification, "when a marked packet is answered with a CNP");
  fields.object("dcqcn", dcqcn, "rate by CNPs");
  fields.object("timely", timely, "rate by the gradient of round trip times");
  fields.object("swift", swift, "window by the distance of round trip times from a target");
  fields.object("hpcc", hpcc,
                "window by what switches tell in the packets: 2 B and 8 B a hop, which the mtu of "
                "links has to hold as well");
}

void CongestionControlSetting::describe(Fields& fields) {
  fields.optional("preset", preset,
                  "name of a file in presets/congestion_control that this is merged over");
  config.describe(fields);
}

}  // namespace rnicsim
