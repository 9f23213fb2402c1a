// SPDX-License-Identifier: MIT
// From a name on the command line to a file and its checked runs: where scenarios are, and which
// runs (the scenario itself, then its variants) a file stands for.
#pragma once

#include <string>
#include <vector>

#include "model/json_document.h"
#include "scenarios/engine/presets.h"
#include "scenarios/engine/scenario.h"

namespace rnicsim {

/// The folder scenarios/ with presets/ and validation/ in it.
class DataFolder {
 public:
  explicit DataFolder(std::string scenarios) : scenarios_(std::move(scenarios)) {}
  /// That of the installation the running program belongs to, or else of its source tree.
  static DataFolder of_this_program();

  const std::string& path() const { return scenarios_; }
  /// Names (no ending) of the JSON files in the folder or in one below it, sorted.
  std::vector<std::string> names(const std::string& below = {}) const;
  /// The file that is meant: a path, or a name without folder and ending. Throws ConfigError.
  std::string find(const std::string& name) const;
  /// presets/ beside `scenario_file`, then those of this folder.
  PresetDirectories presets_for(const std::string& scenario_file) const;

 private:
  std::string scenarios_;
};

/// Which runs of a file, with which values laid over. An ablation is selected by its name, like a
/// variant, but never with all others.
struct RunSelection {
  /// Empty: the scenario itself and every variant. "base" is the scenario itself.
  std::vector<std::string> variants;
  std::vector<std::string> sets;  ///< "path=value"
  bool ablations = false;         ///< those too, though `variants` does not name them
};

/// What an ablation has to run: the runs that its rows need, in them its values.
struct AblatedRuns {
  AblationSpec spec;
  std::vector<Scenario> runs;
};

struct ScenarioFile {
  std::string name;            ///< the file's, without folder and ending
  JsonNode document;           ///< as read, for the place of an expectation
  Scenario base;               ///< the scenario itself; what is expected stands here
  std::vector<Scenario> runs;  ///< those selected, in the file's order
  std::vector<AblatedRuns> ablations;
};

/// Reads and checks everything. Throws ConfigError.
ScenarioFile load_scenario(const std::string& file, const RunSelection& selection,
                           PresetSource& presets);

}  // namespace rnicsim
