// SPDX-License-Identifier: MIT
// A DMA request as the root port sees it, and what stands around that port: what host/pcie_link
// (reads) and host/pcie_writes share. Decides nothing.
#pragma once

#include "host/dma_guard.h"
#include "host/interrupt_controller.h"
#include "host/iommu.h"
#include "host/memory.h"
#include "host/pcie_route.h"
#include "model/pcie_tlp.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

struct PcieRequest {
  PhysicalAddress address;
  Bytes bytes;
  Gpu* peer = nullptr;  ///< whose memory it is, if not the host's
  DmaPurpose purpose = DmaPurpose::kPayload;
  WorkRequestId work_request;
  bool elided = false;
  bool supported = true;   ///< somebody has these addresses
  bool interrupt = false;  ///< a message for the interrupt controller
  bool guarded = false;    ///< the guard has still to be asked
  bool relaxed = false;    ///< a write with relaxed ordering
  bool snoop = true;       ///< without the no-snoop attribute
};

/// All but memory may be missing.
struct PcieSurroundings {
  Memory& memory;
  DmaGuard* guard = nullptr;
  InterruptController* interrupts = nullptr;
  Iommu* iommu = nullptr;
  PcieRoute* route = nullptr;

  /// When the request may go on to memory.
  Time translated(Time arrival, const PcieRequest& request) const {
    return iommu == nullptr ? arrival : iommu->translate(arrival, request.address, request.bytes);
  }
  void ask_guard(PcieRequest& request, bool write, Time entered) const {
    request.guarded = false;
    guard->check({write, request.address, request.bytes, request.purpose, request.work_request},
                 entered);
  }
};

}  // namespace rnicsim
