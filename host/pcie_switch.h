// SPDX-License-Identifier: MIT
// A PCIe switch: several devices under one upstream link to the root complex.
//
// Models: the latency of a hop, the upstream link's bandwidth that all devices share (both
// directions; host/pcie_wire says how they take turns), peer-to-peer requests that go from port to
// port inside and never use the upstream link, and ACS P2P request redirect, with which they go up
// to the root complex and come back down. Connects to: host/pcie_route, which asks it.
// Approximates: MMIO stores and loads pass with the hop's latency but take no room on the wire; the
// non-blocking core between ports; flow control of the upstream link stands for nothing but its
// bandwidth, and a port buffers what the device's own credits allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/pcie_config.h"
#include "host/pcie_wire.h"
#include "model/config_reader.h"
#include "model/metrics.h"

namespace rnicsim {

struct PcieSwitchConfig {
  std::uint32_t generation = 3;
  std::uint32_t lanes = 16;
  Time hop_latency = Time::ns(120);
  Time upstream_latency = Time::ns(20);
  bool acs_redirect = false;
  std::vector<std::string> devices;
  void describe(Fields& fields);
  /// "nic0", "gpu1": whether that device stands under the switch.
  bool has(const std::string& device) const;
};

class PcieSwitch {
 public:
  explicit PcieSwitch(const PcieSwitchConfig& config, Bytes max_payload);

  const PcieSwitchConfig& config() const { return config_; }
  PcieSpan to_root(const PcieSpan& span, Bytes link_bytes) {
    return up_.carry(span.later(config_.hop_latency), link_bytes).later(config_.upstream_latency);
  }
  PcieSpan from_root(const PcieSpan& span, Bytes link_bytes) {
    return down_.carry(span.later(config_.upstream_latency), link_bytes).later(config_.hop_latency);
  }
  /// From one port to another.
  PcieSpan across(const PcieSpan& span, Bytes link_bytes) {
    peer_bytes_ += link_bytes;
    return span.later(config_.hop_latency);
  }
  void report(const MetricScope& scope) const;

 private:
  PcieSwitchConfig config_;
  PcieWire up_;
  PcieWire down_;
  Bytes peer_bytes_;
};

}  // namespace rnicsim
