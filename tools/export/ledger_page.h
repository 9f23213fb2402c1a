// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rnicsim {

/// The text of ledger_page.html.
std::string ledger_page();

}  // namespace rnicsim
