// SPDX-License-Identifier: MIT
// The XML that NCCL writes to NCCL_TOPO_DUMP_FILE: where NICs and GPUs are plugged in.
//
//   <system> <cpu numaid="0"> <pci busid class link_speed link_width> ...
//     <nic> <net name dev speed/> </nic>     or     <gpu dev sm/>
//
// A <pci> that holds <pci>s is a switch. Read: link_speed and link_width of the NIC's slot, `speed`
// (Mb/s) of its <net>, the switch above it with its own link, the GPUs below the same switch.
#pragma once

#include <string>
#include <string_view>

#include "tools/import/machine.h"

namespace rnicsim {

/// `net`: "mlx5_0"; empty: the first. Throws ConfigError.
void read_nccl_topology(std::string_view text, const std::string& file, const std::string& net,
                        Machine& machine);

}  // namespace rnicsim
