// SPDX-License-Identifier: MIT
#include "tools/export/ledger.h"
#include "tools/export/page.h"

namespace rnicsim {

std::string ledger_html(const Ledger& ledger) {
  return filled_page(ledger_page(), ledger_json(ledger));
}

}  // namespace rnicsim
