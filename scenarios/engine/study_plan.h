// SPDX-License-Identifier: MIT
// The points of a study: which there are, and what each changes in the base scenario.
//
// A dimension is one entry of "axes": an axis, or the axes of a zip, which have their values
// together; a position is where a point stands on it. Points are counted with the last dimension
// fastest, and the repeats of one behind one another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/json_document.h"
#include "scenarios/engine/study_spec.h"

namespace rnicsim {

struct StudyAxis {
  std::string name;
  std::vector<std::string> paths;
  std::vector<JsonNode> values;
  std::vector<std::string> labels;  ///< the same as texts; all different except in a zip
  std::vector<std::string> shown;   ///< the same for people: long fractions are shortened
};

struct StudyDimension {
  std::string name;                                 ///< of its axes, joined by "+"
  std::vector<std::size_t> axes;                    ///< indices
  std::vector<std::vector<std::size_t>> positions;  ///< for each, which value each of its axes has
};

struct StudyPoint {
  std::size_t index = 0;
  std::vector<std::size_t> positions;  ///< one a dimension
  std::uint32_t repeat = 0;
};

class StudyPlan {
 public:
  StudyPlan() = default;
  /// Throws ConfigError for what the fields alone do not tell, placed by `document`.
  StudyPlan(const JsonNode& document, StudySpec spec);

  const StudySpec& spec() const { return spec_; }
  const std::vector<StudyAxis>& axes() const { return axes_; }
  const std::vector<StudyDimension>& dimensions() const { return dimensions_; }
  /// Points, repeats included.
  std::size_t size() const;
  StudyPoint point(std::size_t index) const;
  /// What the axis says at the point, and the same for people.
  const std::string& label(const StudyPoint& point, std::size_t axis) const;
  const std::string& shown(const StudyPoint& point, std::size_t axis) const;
  /// "4 KiB / 64": of all axes of the dimension, for people.
  std::string position_label(std::size_t dimension, std::size_t position) const;
  /// What the study and its axes change there, each value with its path as key, in that order. The
  /// seed is not among them.
  std::vector<JsonNode> changes(const StudyPoint& point) const;

  /// Indices of the points for which the expression over axes' names (and "repeat") holds; all for
  /// an empty one. A number is the axis's value if it is shown like that. Throws ConfigError that
  /// names --filter.
  std::vector<std::size_t> matching(const std::string& filter) const;

 private:
  void check_columns(const JsonNode& document) const;
  /// Which of the axis's values the point has.
  std::size_t value_at(const StudyPoint& point, std::size_t axis) const;
  /// Throws ConfigError that names --filter for one that is no axis.
  std::size_t axis_called(const std::string& name) const;

  StudySpec spec_;
  std::vector<StudyAxis> axes_;
  std::vector<StudyDimension> dimensions_;
};

}  // namespace rnicsim
