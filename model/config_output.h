// SPDX-License-Identifier: MIT
// What comes out of a configuration's description: the values in force, as JSON and as a flat list
// for people, and a JSON Schema (2020-12) for editors.
#pragma once

#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/json_document.h"

namespace rnicsim {

/// All values of the struct, in the order and spelling of a scenario file; reading it back gives
/// the same struct. Absent optionals are left out.
JsonNode dump_config(ConfigRef config);

struct ConfigEntry {
  std::string path;   ///< "hosts.0.memory.page_size"
  std::string value;  ///< "4"; the whole text where there is no unit
  std::string unit;   ///< "KiB"; empty for counts, choices and names
  std::string limits;
  std::string doc;
};
/// The same values, one line each.
std::vector<ConfigEntry> list_config(ConfigRef config, const std::string& path = {});

/// Schema of the struct: an object schema without "$schema"; defaults are the values it holds.
JsonNode config_schema(ConfigRef config);

}  // namespace rnicsim
