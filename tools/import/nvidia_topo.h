// SPDX-License-Identifier: MIT
// `nvidia-smi topo -m`: how far GPUs and NICs are from one another.
//
//           GPU0    GPU1    NIC0    CPU Affinity  NUMA Affinity
//   GPU0     X      NV12    PIX     0-31          0
//   NIC0    PIX     PXB      X
//   Legend: ...
//   NIC Legend: NIC0: mlx5_0
//
// Older ones name the NIC itself (mlx5_0). Read: which GPUs are PIX or PXB (one PCIe switch or more
// between them) from the NIC, and which are farther (PHB, NODE, SYS).
#pragma once

#include <string>
#include <string_view>

#include "tools/import/machine.h"

namespace rnicsim {

/// `nic`: "mlx5_0" or "NIC0"; empty: the first. Throws ConfigError.
void read_nvidia_topo(std::string_view text, const std::string& file, const std::string& nic,
                      Machine& machine);

}  // namespace rnicsim
