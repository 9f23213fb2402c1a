// SPDX-License-Identifier: MIT
// Where a probe record comes from: ProbeRecord::component counts through all hosts, each host's own
// number followed by one for each of its NICs.
//
//   0 host.A   1 host.A.nic0   2 host.A.nic1   3 host.B   4 host.B.nic0
//
// A NIC's number covers what there is once a NIC: the NIC itself, its PCIe link and its driver's
// instance; a host's number the programs on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rnicsim {

struct ProbeComponent {
  std::string host;
  std::string path;                  ///< as in metrics: "host.A", "host.A.nic0"
  std::optional<std::uint16_t> nic;  ///< run-wide number of the NIC, as work requests carry it
};

/// Indexed by ProbeRecord::component.
using ProbeComponents = std::vector<ProbeComponent>;

}  // namespace rnicsim
