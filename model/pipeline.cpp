// SPDX-License-Identifier: MIT
#include "model/pipeline.h"

namespace rnicsim {

void PipelineConfig::describe(Fields& fields) {
  fields.field("latency", latency, range(Cycles(0), Cycles(1000000)), "cycles from entry to exit");
  fields.field("interval", interval, range(Cycles(1), Cycles(1000000)),
               "cycles between two entries (initiation interval)");
}

}  // namespace rnicsim
