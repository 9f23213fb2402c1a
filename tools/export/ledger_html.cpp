// SPDX-License-Identifier: MIT
// The page is tools/export/ledger_page.html; the build puts its text into the program, and the
// ledger's document goes into it here.
#include "tools/export/ledger.h"
#include "tools/export/ledger_page.h"

namespace rnicsim {
namespace {

/// "</script" and "<!--" mean something to a browser within the script element that the document
/// stands in, so no "<" stays. One can only be within a string.
std::string harmless(const std::string& json) {
  std::string out;
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string ledger_html(const Ledger& ledger) {
  const std::string place = "LEDGER_DOCUMENT";
  std::string page = ledger_page();
  return page.replace(page.find(place), place.size(), harmless(ledger_json(ledger)));
}

}  // namespace rnicsim
