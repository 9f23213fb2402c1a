// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "tools/export/study_views.h"

namespace rnicsim {

std::string study_summary(const StudyResult& result, const std::vector<MetricVerdict>& verdicts,
                          const TerminalStyle& style) {
  std::string out;
  const auto heading = [&](const std::string& text) {
    for (const std::string& line : wrapped(text, kTerminalColumns))
      if (!line.empty()) out += inked(style, Ink::kHeading, line) + '\n';
  };
  heading(result.plan.spec().title);
  for (const MetricVerdict& verdict : verdicts) {
    out += (out.empty() ? "" : "\n") + inked(style, Ink::kStep, verdict.metric) + '\n';
    for (const std::string& sentence : verdict.sentences)
      for (const std::string& line : wrapped(sentence, kTerminalColumns - 2))
        out += "  " + line + '\n';
  }
  if (!result.warnings.empty()) out += '\n';
  for (const std::string& warning : result.warnings)
    for (const std::string& line : wrapped("warning: " + warning, kTerminalColumns))
      out += line + '\n';
  const auto failed = std::count_if(result.rows.begin(), result.rows.end(),
                                    [](const StudyRow& row) { return !row.error.empty(); });
  out += fmt::format("\n{} points", result.rows.size());
  if (failed != 0) out += fmt::format(", {} of which failed", failed);
  return out + '\n';
}

}  // namespace rnicsim
