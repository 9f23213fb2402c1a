// SPDX-License-Identifier: MIT
// Scenarios as text, for tests of what is read from them: presets out of the test's own texts, and
// the error that a text gives.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/json_document.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/scenario_reader.h"

namespace rnicsim::test {

/// Presets out of the test's own texts.
class TextPresets final : public PresetSource {
 public:
  std::map<std::string, std::string> texts;  ///< "kind/name" -> file

  std::vector<std::string> names(PresetKind kind) override {
    std::vector<std::string> names;
    const std::string folder = std::string(name_of(kind)) + '/';
    for (const auto& [file, text] : texts)
      if (file.rfind(folder, 0) == 0) names.push_back(file.substr(folder.size()));
    return names;
  }

 private:
  std::optional<JsonNode> document(PresetKind kind, const std::string& name) override {
    const std::string file = std::string(name_of(kind)) + '/' + name;
    const auto it = texts.find(file);
    if (it == texts.end()) return std::nullopt;
    return parse_json(it->second, file);
  }
};

inline TextPresets presets() {
  TextPresets presets;
  presets.texts["host/small"] =
      "{\"title\": \"t\", \"sources\": {\"memory.page_size\": \"assumption\"},\n"
      "\"values\": {\"memory\": {\"page_size\": \"2 MiB\"}}}";
  presets.texts["nic/fast"] =
      R"({"title": "t", "values": {"translation_cache": {"entries": 1024}}, "sources": {}})";
  presets.texts["link/slow"] =
      R"({"title": "t", "values": {"rate": "25 Gb/s", "length": "7 m"}, "sources": {}})";
  return presets;
}

inline const char* const kHosts = R"([{"name": "A"}, {"name": "B"}])";
inline const char* const kWorkload = R"([{"name": "w0", "from": "A", "to": "B"}])";

/// A whole scenario; `more` is further members, each with a comma before it.
inline std::string text_of(const std::string& hosts, const std::string& workload,
                           const std::string& more = "") {
  return "{\"hosts\": " + hosts + ", \"workload\": " + workload + more + "}";
}

inline Scenario read(const std::string& text, const ScenarioSelection& selection = {},
                     TextPresets source = presets()) {
  return read_scenario(parse_json(text, "x.json"), selection, source);
}

inline std::string failure(const std::string& text, const ScenarioSelection& selection = {},
                           const TextPresets& source = presets()) {
  try {
    read(text, selection, source);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

inline std::string workload_failure(const std::string& members, const std::string& more = "") {
  return failure(
      text_of(kHosts, R"([{"name": "w0", "from": "A", "to": "B", )" + members + "}]", more));
}

}  // namespace rnicsim::test
