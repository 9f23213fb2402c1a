// SPDX-License-Identifier: MIT
#include "tools/export/comparison_views.h"
#include "tools/export/page.h"

namespace rnicsim {

std::string comparison_html(const Comparison& comparison) {
  return filled_page(comparison_page(), comparison_json(comparison));
}

}  // namespace rnicsim
