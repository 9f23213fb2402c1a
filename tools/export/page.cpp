// SPDX-License-Identifier: MIT
#include "tools/export/page.h"

#include <fmt/format.h>

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

/// Chart.js with its licence, the document, and what all pages have.
std::string scripts(const std::string& document) {
  constexpr const char* kScripts = R"(<script type="text/plain" id="chart-licence">
{}
</script>
<script>
{}
</script>
<script type="application/json" id="document">{}</script>
<script>
{}
</script>)";
  return fmt::format(kScripts, chart_licence(), chart_library(), harmless(document), page_script());
}

void put_in(std::string& page, const std::string& place, const std::string& text) {
  const std::size_t begin = page.find(place);
  if (begin != std::string::npos) page.replace(begin, place.size(), text);
}

}  // namespace

std::string filled_page(std::string page, const std::string& document) {
  // The document last: what it says is nobody's place.
  put_in(page, "PAGE_STYLE", page_style());
  put_in(page, "PAGE_SCRIPTS", scripts(document));
  return page;
}

}  // namespace rnicsim
