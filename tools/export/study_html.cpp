// SPDX-License-Identifier: MIT
#include "tools/export/page.h"
#include "tools/export/study_views.h"

namespace rnicsim {

std::string study_html(const StudyResult& result, const std::vector<MetricVerdict>& verdicts) {
  return filled_page(study_page(), study_json(result, verdicts));
}

}  // namespace rnicsim
