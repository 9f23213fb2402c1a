// SPDX-License-Identifier: MIT
#include "scenarios/engine/pause_log.h"

#include <charconv>

#include "scenarios/engine/flows/flow_checks.h"
#include "scenarios/engine/packet_capture.h"

namespace rnicsim {

/// A switch of an HPCC topology is named after its id there.
PauseLog::PauseLog(Scheduler& scheduler, const Scenario& scenario, const Topology& topology)
    : scheduler_(scheduler),
      topology_(topology),
      nics_(port_names(scenario)),
      end_points_(topology.end_points()),
      ids_(node_ids(scenario)) {
  for (std::uint32_t node = end_points_; node < topology.nodes().size(); ++node) {
    std::uint32_t id = node;
    const std::string& name = topology.node(node).name;
    const std::size_t digits = name.find_first_of("0123456789");
    if (scenario.fabric.topology.hpcc && digits != std::string::npos)
      std::from_chars(name.data() + digits, name.data() + name.size(), id);
    ids_.push_back(id);
  }
}

std::vector<PauseRecord> PauseLog::take() {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    PauseRecord& record = records_[i];
    record.where =
        record.is_switch
            ? "fabric." + topology_.name_of({nodes_[i], static_cast<std::uint16_t>(record.port)})
            : nics_[nodes_[i]];
  }
  return std::move(records_);
}

}  // namespace rnicsim
