// SPDX-License-Identifier: MIT
// Self-contained HTML pages: the text of one is tools/export/*_page.html; a document of JSON goes
// into it, from which its script draws everything, what all pages share (page.css, page.js), and
// Chart.js with its licence: the build takes both from the distribution's package. Nothing is asked
// of the network.
#pragma once

#include <string>

namespace rnicsim {

/// The page with everything in its place: PAGE_STYLE, and PAGE_SCRIPTS before the page's own
/// script.
std::string filled_page(std::string page, const std::string& document);

// Made by the build.
std::string ledger_page();
std::string comparison_page();
std::string study_page();
std::string report_page();
std::string page_style();
std::string page_script();
std::string chart_library();
std::string chart_licence();
/// tools/export/labels_ja.txt.
std::string japanese_descriptions();

}  // namespace rnicsim
