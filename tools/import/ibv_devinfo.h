// SPDX-License-Identifier: MIT
// `ibv_devinfo -v`: how many queue pairs, completion queues and keys an HCA can have, and the rate
// of its port.
//
// Read: max_qp, max_cq, max_mr, max_srq (as the logarithms that the driver takes), active_width and
// active_speed (the link's rate), active_mtu, link_layer, max_qp_rd_atom (notes: they belong to a
// scenario's workload or fabric).
#pragma once

#include <string>
#include <string_view>

#include "tools/import/machine.h"

namespace rnicsim {

/// `hca`: "mlx5_0"; empty: the first. Throws ConfigError.
void read_ibv_devinfo(std::string_view text, const std::string& file, const std::string& hca,
                      Machine& machine);

}  // namespace rnicsim
