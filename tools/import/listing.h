// SPDX-License-Identifier: MIT
// Which tool printed a text, and the reader for it.
#pragma once

#include <string>
#include <string_view>

#include "tools/import/machine.h"

namespace rnicsim {

struct ListingChoice {
  std::string device;  ///< PCI address of the NIC; empty: the first
  std::string hca;     ///< its name, "mlx5_0"; empty: the first
};

/// Throws ConfigError, also for a text of none of the tools.
/// lspci alone knows what a link could be beside what it runs at, so it is read before others.
bool is_lspci(std::string_view text);
void read_listing(std::string_view text, const std::string& file, const ListingChoice& choice,
                  Machine& machine);

}  // namespace rnicsim
