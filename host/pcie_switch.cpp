// SPDX-License-Identifier: MIT
#include "host/pcie_switch.h"

#include <algorithm>

namespace rnicsim {

void PcieSwitchConfig::describe(Fields& fields) {
  const auto latencies = range(Time(), Time::us(100));
  fields.field("generation", generation, range(1, 7), "PCIe generation of the upstream link");
  fields.field("lanes", lanes, range(1, 32).power_of_two(), "width of the upstream link");
  fields.field("hop_latency", hop_latency, latencies, "through the switch, from port to port");
  fields.field("upstream_latency", upstream_latency, latencies,
               "over the upstream link, besides the time of the bytes");
  fields.field("acs_redirect", acs_redirect,
               "requests from device to device go up to the root complex and back (ACS)");
  fields.list("devices", devices, ListLimits{0, 64},
              "which devices stand under it, \"nic0\", \"gpu0\"; all if none is given");
}

bool PcieSwitchConfig::has(const std::string& device) const {
  return devices.empty() || std::find(devices.begin(), devices.end(), device) != devices.end();
}

PcieSwitch::PcieSwitch(const PcieSwitchConfig& config, Bytes max_payload)
    : config_(config),
      up_(pcie_link_rate(config.generation, config.lanes, max_payload)),
      down_(pcie_link_rate(config.generation, config.lanes, max_payload)) {}

void PcieSwitch::report(const MetricScope& scope) const {
  up_.report(scope.child("upstream"), "on the way to the root complex, all devices");
  down_.report(scope.child("downstream"), "on the way from the root complex, all devices");
  scope.bytes("peer_bytes", peer_bytes_, "bytes that went from device to device inside");
}

}  // namespace rnicsim
