// SPDX-License-Identifier: MIT
// Whatever bytes are handed to rnicsim import: what is learned makes presets that load, or
// ConfigError says in one line why not.
#include <nlohmann/json.hpp>
#include <string_view>

#include "scenarios/engine/result_document.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tools/import/listing.h"

namespace rnicsim {

void fuzz_reader(std::string_view text) {
  Machine machine;
  read_listing(text, "fuzz.txt", {}, machine);
  for (const PresetKind kind : machine.kinds()) {
    const std::string preset = to_lines(machine.preset(kind, "t"));
    try {
      check_preset(preset, kind, "preset.json");
    } catch (const ConfigError&) {
      std::abort();
    }
  }
  machine.remarks();
}

}  // namespace rnicsim
