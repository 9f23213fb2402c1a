// SPDX-License-Identifier: MIT
// Where a device's DMA goes beyond its own link: through a switch or not, to the root complex, or
// to the memory of a GPU of the same host. Decides by address, adds up the wires on the way.
//
//   device -- switch -- GPU                under one switch, without ACS redirect
//   device -- switch -- root complex -- switch -- GPU           with it
//   device -- (switch) -- root complex -- (switch) -- GPU       not under one switch
//
// What passes the root complex on its way to a GPU is translated by its IOMMU, if there is one;
// what stays inside a switch never meets it. Approximates: a request that waits for a walk delays
// its own first byte and, through the wires behind, later ones.
//
// Connects to: host/pcie_link, which asks it for each request; one for each NIC.
#pragma once

#include <vector>

#include "host/gpu.h"
#include "host/iommu.h"
#include "host/pcie_switch.h"
#include "host/pcie_wire.h"
#include "host/root_complex.h"

namespace rnicsim {

class PcieRoute {
 public:
  struct Peer {
    Gpu* gpu = nullptr;
    bool under_switch = false;
  };
  /// `above`: the switch that the device stands under, or null. `any`: the host's, if it has one.
  PcieRoute(PcieSwitch* above, PcieSwitch* any, RootComplex& root, std::vector<Peer> peers)
      : above_(above), any_(any), root_(root), peers_(std::move(peers)) {}
  /// Where addresses are translated in the root complex; without one they pass through.
  void set_iommu(Iommu* iommu) { iommu_ = iommu; }

  /// The GPU whose memory this is, or null.
  Gpu* peer(PhysicalAddress address, Bytes bytes) const {
    for (const Peer& peer : peers_)
      if (peer.gpu->contains(address, bytes)) return peer.gpu;
    return nullptr;
  }

  PcieSpan to_root(const PcieSpan& span, Bytes link_bytes) {
    return above_ != nullptr ? above_->to_root(span, link_bytes) : span;
  }
  PcieSpan from_root(const PcieSpan& span, Bytes link_bytes) {
    return above_ != nullptr ? above_->from_root(span, link_bytes) : span;
  }
  struct Range {
    PhysicalAddress address;
    Bytes bytes;
  };
  /// From the device's port to the GPU's, and back.
  PcieSpan to_peer(const Gpu& gpu, const PcieSpan& span, Bytes link_bytes, const Range& range);
  PcieSpan from_peer(const Gpu& gpu, const PcieSpan& span, Bytes link_bytes);
  /// What a store of the CPU takes longer, or a load's answer on its way back.
  Time latency_from_root() const;

 private:
  bool stays_inside(const Gpu& gpu) const;
  PcieSwitch* switch_of(const Gpu& gpu) const;
  PcieSpan translated(PcieSpan span, const Range& range);

  PcieSwitch* above_;
  PcieSwitch* any_;
  RootComplex& root_;
  Iommu* iommu_ = nullptr;
  std::vector<Peer> peers_;
};

}  // namespace rnicsim
