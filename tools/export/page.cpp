// SPDX-License-Identifier: MIT
#include "tools/export/page.h"

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

void put_in(std::string& page, const std::string& place, const std::string& text) {
  const std::size_t begin = page.find(place);
  if (begin != std::string::npos) page.replace(begin, place.size(), text);
}

}  // namespace

std::string filled_page(std::string page, const std::string& document) {
  // The document last: what it says is nobody's place.
  put_in(page, "PAGE_STYLE", page_style());
  put_in(page, "PAGE_SCRIPT", page_script());
  put_in(page, "CHART_LICENCE", chart_licence());
  put_in(page, "CHART_LIBRARY", chart_library());
  put_in(page, "PAGE_DOCUMENT", harmless(document));
  return page;
}

}  // namespace rnicsim
