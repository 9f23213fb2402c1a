// SPDX-License-Identifier: MIT
// Presets: named sets of values that a scenario's own are merged over. A preset is the file
// presets/KIND/NAME.json:
//
//   { "title": "...",
//     "values": { as in the scenario },
//     "sources": { "path.in.values": "where the number is published, or: assumption" } }
//
// It is checked when it is read, against the configuration of its kind: an error points into the
// preset's file, not into the scenario that uses it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/json_document.h"

namespace rnicsim {

enum class PresetKind { kHost, kNic, kSwitch, kLink, kCongestionControl, kExerciser };
inline constexpr PresetKind kPresetKinds[] = {PresetKind::kHost,
                                              PresetKind::kNic,
                                              PresetKind::kSwitch,
                                              PresetKind::kLink,
                                              PresetKind::kCongestionControl,
                                              PresetKind::kExerciser};
const char* name_of(PresetKind kind);  ///< also the folder

struct Preset {
  std::string title;
  AnyJson values;
  AnyJson sources;
  void describe(Fields& f);
};

/// A preset from its parsed file; throws ConfigError.
Preset read_preset(const JsonNode& document, PresetKind kind);

/// Schema of a preset file of that kind.
JsonNode preset_schema(PresetKind kind);

/// Where presets are looked up.
class PresetSource {
 public:
  virtual ~PresetSource() = default;
  /// Null if there is none of that name.
  virtual std::shared_ptr<const Preset> find(PresetKind kind, const std::string& name) = 0;
  /// Sorted.
  virtual std::vector<std::string> names(PresetKind kind) = 0;
};

/// presets/ folders, the first that has the file wins.
class PresetDirectories final : public PresetSource {
 public:
  explicit PresetDirectories(std::vector<std::string> directories)
      : directories_(std::move(directories)) {}
  std::shared_ptr<const Preset> find(PresetKind kind, const std::string& name) override;
  std::vector<std::string> names(PresetKind kind) override;

 private:
  std::vector<std::string> directories_;
};

}  // namespace rnicsim
