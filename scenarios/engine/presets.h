// SPDX-License-Identifier: MIT
// Presets: named sets of values that a scenario's own are merged over. A preset is the file
// presets/KIND/NAME.json:
//
//   { "title": "...",
//     "base": "another of its kind, of which this one tells only what differs",
//     "values": { as in the scenario },
//     "sources": { "path.in.values": "where the number is published, or: assumption" } }
//
// It is checked when it is read, against the configuration of its kind: an error points into the
// preset's file, not into the scenario that uses it. What the base says of a value that is given
// anew is dropped: a number never stands beside another one's source.
#pragma once

#include <memory>
#include <optional>
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
  std::optional<std::string> base;
  AnyJson values;  ///< once found: over those of its base, and so the sources
  AnyJson sources;
  void describe(Fields& f);
};

/// Schema of a preset file of that kind.
JsonNode preset_schema(PresetKind kind);

/// For `found` of an error: what is unknown and, if nothing is near, what is known.
ConfigError unknown_preset(const JsonNode& name, const std::string& path, PresetKind kind,
                           const std::vector<std::string>& known);

/// Where presets are looked up.
class PresetSource {
 public:
  virtual ~PresetSource() = default;
  /// Null if there is none of that name. Throws ConfigError.
  std::shared_ptr<const Preset> find(PresetKind kind, const std::string& name);
  /// Sorted.
  virtual std::vector<std::string> names(PresetKind kind) = 0;

 protected:
  /// The parsed file of that name, if there is one.
  virtual std::optional<JsonNode> document(PresetKind kind, const std::string& name) = 0;

 private:
  Preset read(const JsonNode& document, PresetKind kind, std::vector<std::string>& chain);
};

/// presets/ folders, the first that has the file wins.
class PresetDirectories final : public PresetSource {
 public:
  explicit PresetDirectories(std::vector<std::string> directories)
      : directories_(std::move(directories)) {}
  std::vector<std::string> names(PresetKind kind) override;

 private:
  std::optional<JsonNode> document(PresetKind kind, const std::string& name) override;

  std::vector<std::string> directories_;
};

}  // namespace rnicsim
