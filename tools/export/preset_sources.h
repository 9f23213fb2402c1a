// SPDX-License-Identifier: MIT
// Where the values of presets were published, for people who look at a configuration.
#pragma once

#include <string>
#include <vector>

#include "model/config_output.h"
#include "scenarios/engine/presets.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// All values of the preset, those that it does not name at their defaults.
std::vector<ConfigEntry> preset_entries(PresetKind kind, const Preset& preset);

/// What the preset says of the path itself, or of the object that it is in.
std::string source_of(const Preset& preset, std::string path);

struct SourcedEntry {
  ConfigEntry entry;
  std::string source;  ///< empty for what no preset says, or says otherwise
};

/// Every value in force of a run, without variants and expectations.
std::vector<SourcedEntry> sourced_configuration(const Scenario& setup, PresetSource& presets);

}  // namespace rnicsim
