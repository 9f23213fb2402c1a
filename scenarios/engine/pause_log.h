// SPDX-License-Identifier: MIT
// When ports were stopped by pauses and went on, as HPCC's scripts want to know it: at the port
// that obeys, which is the one that received the pause frame. A pause that is refreshed is one
// record; one that runs out goes on as if it had been told to.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology.h"
#include "model/pause.h"
#include "model/scheduler.h"
#include "scenarios/engine/run_result.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

class PauseLog : public PauseObserver {
 public:
  PauseLog(Scheduler& scheduler, const Scenario& scenario, const Topology& topology);
  void pause_changed(Port port, std::uint8_t priority, bool paused) override {
    records_.push_back({scheduler_.now(),
                        ids_[port.node],
                        port.node >= end_points_,
                        port.port,
                        priority,
                        paused,
                        {}});
    nodes_.push_back(port.node);
  }
  std::vector<PauseRecord> take();

 private:
  Scheduler& scheduler_;
  const Topology& topology_;
  std::vector<std::string> nics_;  ///< names, by node
  std::uint32_t end_points_;
  std::vector<std::uint32_t> ids_;  ///< by node of the topology
  std::vector<PauseRecord> records_;
  std::vector<std::uint32_t> nodes_;  ///< of the topology, for each record
};

}  // namespace rnicsim
