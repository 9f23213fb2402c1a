// SPDX-License-Identifier: MIT
// Whatever bytes stand in a scenario file: it is read, or ConfigError says in one line why not.
// Any other exception, a crash, or a message of several lines is a finding.
#include <string_view>

#include "model/config_output.h"
#include "scenarios/engine/scenario_reader.h"
#include "tests/fuzz/reader_fuzz.h"

namespace rnicsim {
namespace {

/// One preset of each kind, "p", which sets nothing.
class EmptyPresets final : public PresetSource {
 public:
  std::vector<std::string> names(PresetKind /*kind*/) override { return {"p"}; }

 private:
  std::optional<JsonNode> document(PresetKind /*kind*/, const std::string& name) override {
    if (name != "p") return std::nullopt;
    return parse_json(R"({"title": "", "values": {}, "sources": {}})", "p");
  }
};

}  // namespace

void fuzz_reader(std::string_view text) {
  EmptyPresets presets;
  const JsonNode document = parse_json(text, "fuzz.json");
  Scenario scenario = read_scenario(document, {}, presets);
  // What was accepted must be printable and readable again.
  read_scenario(dump_config(scenario), {}, presets);
  for (const VariantSpec& variant : scenario.variants)
    read_scenario(document, {variant.name, {}}, presets);
}

}  // namespace rnicsim
