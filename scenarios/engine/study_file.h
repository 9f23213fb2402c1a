// SPDX-License-Identifier: MIT
// A study read from its file, with the scenario it begins with: what each point is, as a scenario
// that can run, and by which key its result is known again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/json_document.h"
#include "scenarios/engine/scenario.h"
#include "scenarios/engine/scenario_file.h"
#include "scenarios/engine/study_plan.h"

namespace rnicsim {

class StudyFile {
 public:
  /// Reads and checks the study and its base. Throws ConfigError. `data`: where scenarios and
  /// presets are that are meant by name.
  StudyFile(const std::string& file, const DataFolder& data);

  const std::string& name() const { return name_; }  ///< the file's, without folder and ending
  const StudyPlan& plan() const { return plan_; }
  const JsonNode& document() const { return document_; }
  /// What the base expects to go wrong: kinds of violations.
  const std::vector<std::string>& expected_violations() const { return expected_violations_; }

  /// Throws ConfigError if the values do not go together.
  Scenario scenario_at(const StudyPoint& point);

  /// By the study's expression. Throws ConfigError.
  std::optional<double> cost_of(const Scenario& scenario) const;

 private:
  Scenario read(std::vector<JsonNode> changes);

  std::string name_;
  JsonNode document_;
  StudyPlan plan_;
  JsonNode base_;
  PresetDirectories presets_{{}};
  std::uint64_t base_seed_ = 1;
  std::vector<std::string> expected_violations_;
};

/// The same for scenarios that give the same result: a hash of every value in force, of the files
/// that they name, and of this build of the program.
std::string key_of(const Scenario& scenario);

}  // namespace rnicsim
