// SPDX-License-Identifier: MIT
// An injected fault: a NIC that pauses a priority of its link without end, whatever its receive
// buffer holds, as one does whose receive pipeline hangs. What comes is received all the same; a
// pipeline that hangs as well is a `stall`.
#pragma once

#include <optional>
#include <vector>

#include "model/config_reader.h"
#include "model/pause.h"
#include "model/scheduler.h"
#include "model/units.h"

namespace rnicsim {

struct PauseStormConfig {
  std::uint8_t priority = 3;
  Time from;
  std::optional<Time> until;
  void describe(Fields& fields);
};

class PauseStorms {
 public:
  PauseStorms(Scheduler& scheduler, const std::vector<PauseStormConfig>& storms,
              PauseRequester& requester);

 private:
  void begin(std::uint64_t priority) { requester_.jam(static_cast<std::uint8_t>(priority)); }
  void end(std::uint64_t priority) { requester_.let_go(static_cast<std::uint8_t>(priority)); }

  PauseRequester& requester_;
};

}  // namespace rnicsim
