// SPDX-License-Identifier: MIT
// `lspci -vv` (as root): what one NIC's PCIe link can do and has come to, its limits for TLPs,
// relaxed ordering, tags, and whether a bridge redirects peer-to-peer requests (ACS).
//
// Read: LnkCap and LnkSta (speed, width), DevCtl (MaxPayload, MaxReadReq, RlxdOrd, ExtTag), DevCtl2
// (10BitTagReq), LnkCtl (RCB), "NUMA node", ACSCtl of bridges. Everything else is passed over.
#pragma once

#include <string>
#include <string_view>

#include "tools/import/machine.h"

namespace rnicsim {

/// `device`: the NIC's address, "5e:00.0"; empty: the first network controller with a link. Throws
/// ConfigError.
void read_lspci(std::string_view text, const std::string& file, const std::string& device,
                Machine& machine);

}  // namespace rnicsim
