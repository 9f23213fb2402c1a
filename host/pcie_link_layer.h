// SPDX-License-Identifier: MIT
// What a link's lines carry beside TLPs, from how many bytes of TLPs there were: ACK and
// flow-control DLLPs and SKP ordered sets, which host/pcie_arithmetic takes out of the rate. For
// reports; nothing here takes simulated time.
//
// Connects to: host/pcie_link, which reports it for the link of an exerciser. Approximates: as the
// rate does, one ACK and one flow-control update per interval, whether or not the lines would have
// been idle. FLIT mode and the ATC 2016 accounting have neither.
#pragma once

#include <cstdint>

#include "host/pcie_config.h"
#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

struct PcieLinkLayer {
  Bytes raw;                  ///< of the lines, while TLPs had the link
  std::uint64_t acks = 0;     ///< DLLPs
  std::uint64_t updates = 0;  ///< DLLPs of flow control
  Bytes skips;                ///< of SKP ordered sets

  PcieLinkLayer(const PcieConfig& config, Bytes tlps);
};

/// Reports it under `scope`, with the rates that it amounts to.
void report_link_layer(const MetricScope& scope, const PcieConfig& config, Bytes tlps);

}  // namespace rnicsim
