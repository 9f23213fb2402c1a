// SPDX-License-Identifier: MIT
// Whatever bytes stand in a scenario file: it is read, or ConfigError says in one line why not.
// Any other exception, a crash, or a message of several lines is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "model/config_output.h"
#include "scenarios/engine/scenario_reader.h"

namespace rnicsim {
namespace {

/// One preset of each kind, "p", which sets nothing.
class EmptyPresets final : public PresetSource {
 public:
  std::shared_ptr<const Preset> find(PresetKind kind, const std::string& name) override {
    if (name != "p") return nullptr;
    const JsonNode document = parse_json(R"({"title": "", "values": {}, "sources": {}})", "p");
    return std::make_shared<const Preset>(read_preset(document, kind));
  }
  std::vector<std::string> names(PresetKind /*kind*/) override { return {"p"}; }
};

void read_with_variants(std::string_view text) {
  EmptyPresets presets;
  const JsonNode document = parse_json(text, "fuzz.json");
  Scenario scenario = read_scenario(document, {}, presets);
  // What was accepted must be printable and readable again.
  read_scenario(dump_config(scenario), {}, presets);
  for (const VariantSpec& variant : scenario.variants)
    read_scenario(document, {variant.name, {}}, presets);
}

}  // namespace
}  // namespace rnicsim

/// SystemC's library, which the blocks' configurations bring along, asks for it; libFuzzer's main
/// runs.
extern "C" int sc_main(int /*argc*/, char** /*argv*/) { return 2; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    rnicsim::read_with_variants({reinterpret_cast<const char*>(data), size});
  } catch (const rnicsim::ConfigError& error) {
    if (std::strlen(error.what()) == 0 || std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}
