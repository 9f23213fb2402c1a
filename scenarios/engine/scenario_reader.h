// SPDX-License-Identifier: MIT
// From a scenario file to a checked Scenario. Layers, each over the one before: the blocks'
// defaults, presets, the scenario, the variant, the ablation, changes (of a study's point), --set.
// All checks finish here; what comes out can be built.
#pragma once

#include <string>
#include <vector>

#include "model/config_output.h"
#include "model/json_document.h"
#include "scenarios/engine/presets.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

struct ScenarioSelection {
  std::string variant;                 ///< empty: the scenario itself
  std::vector<std::string> sets;       ///< "path=value"; the value is JSON, or else a string
  std::string ablation = {};           ///< laid over the variant; empty: none
  std::vector<JsonNode> changes = {};  ///< each at the path that is its key
};

/// Throws ConfigError.
Scenario read_scenario(const JsonNode& document, const ScenarioSelection& selection,
                       PresetSource& presets);

/// Schema of a file that holds such a struct; one may name its schema.
JsonNode file_schema(const char* title, ConfigRef config);
JsonNode scenario_schema();

}  // namespace rnicsim
