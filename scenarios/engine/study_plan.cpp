// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "scenarios/engine/scenario_checks.h"
#include "scenarios/engine/study_expression.h"
#include "scenarios/engine/study_value.h"

namespace rnicsim {
namespace {

constexpr std::size_t kMaxPoints = 1'000'000;
constexpr const char* kRepeat = "repeat";

using Positions = std::vector<std::vector<std::size_t>>;

bool is_empty(const AxisSpec& axis) {
  return !axis.name && !axis.path && axis.paths.empty() && !axis.values && !axis.linear &&
         !axis.log && axis.presets.empty();
}

std::string label_of(const JsonNode& value) {
  const bool holds_others = value.is_object() || value.is_array();
  return holds_others ? to_nlohmann(value).dump() : value.text();
}

/// "entries" of "hosts.*.nic.translation_cache.entries", "nic" of "hosts.*.nics.0".
std::string last_word(const std::string& path) {
  std::string rest = path;
  while (true) {
    const std::size_t dot = rest.rfind('.');
    std::string word = dot == std::string::npos ? rest : rest.substr(dot + 1);
    const bool is_name = word.find_first_not_of("0123456789*") != std::string::npos;
    if (is_name || dot == std::string::npos) return word;
    rest.resize(dot);
  }
}

/// Of the values that are the same as one before them, if only written in another unit, that one's
/// index; of the others their own.
std::vector<std::size_t> first_of_same(const std::vector<std::string>& labels) {
  std::map<std::string, std::size_t> texts;
  std::map<double, std::size_t> numbers;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::optional<double> number = number_of_text(labels[i]);
    first.push_back(number ? numbers.emplace(*number, i).first->second
                           : texts.emplace(labels[i], i).first->second);
  }
  return first;
}

/// Word by word: whatever `path` names, `later` names too.
bool covers(const std::string& later, const std::string& path) {
  std::istringstream words(later);
  std::istringstream covered(path);
  std::string word;
  std::string other;
  while (std::getline(words, word, '.'))
    if (!std::getline(covered, other, '.') || (word != "*" && word != other)) return false;
  return !std::getline(covered, other, '.');
}

/// The shortened texts, unless two that differ would be the same.
std::vector<std::string> shown_for(const std::vector<std::string>& labels) {
  std::vector<std::string> shown;
  shown.reserve(labels.size());
  for (const std::string& label : labels) shown.push_back(short_text(label));
  const std::set<std::string> different(labels.begin(), labels.end());
  const std::set<std::string> shown_different(shown.begin(), shown.end());
  return different.size() == shown_different.size() ? shown : labels;
}

class Planner {
 public:
  Planner(const JsonNode& document, std::vector<StudyAxis>& axes)
      : document_(document), axes_(axes) {}

  StudyDimension dimension(const DimensionSpec& spec, const std::string& path) {
    StudyDimension made;
    const std::size_t first = axes_.size();
    if (spec.zip.empty()) {
      made.positions = axis(spec.axis, path);
    } else {
      refuse_axis(spec.axis, path, "zip");
      made.positions = zipped(spec.zip, join_path(path, "zip"));
    }
    refuse_same_positions(made.positions, first, path);
    for (std::size_t a = first; a < axes_.size(); ++a) {
      made.name += (made.name.empty() ? "" : "+") + axes_[a].name;
      made.axes.push_back(a);
    }
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& path, std::string problem) const {
    fail_check(document_, path, std::move(problem));
  }

  void refuse_axis(const AxisSpec& axis, const std::string& path, const char* instead) const {
    if (!is_empty(axis))
      fail(path, fmt::format("has \"{}\" and is an axis itself; choose one", instead));
  }

  /// Positions of the axes from `first` on.
  void refuse_same_positions(const Positions& positions, std::size_t first,
                             const std::string& path) const {
    std::vector<std::vector<std::size_t>> same;
    for (std::size_t a = first; a < axes_.size(); ++a)
      same.push_back(first_of_same(axes_[a].labels));
    std::map<std::vector<std::size_t>, std::size_t> seen;
    for (std::size_t p = 0; p < positions.size(); ++p) {
      std::vector<std::size_t> values = positions[p];
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = same[i][values[i]];
      const auto [before, is_new] = seen.emplace(values, p);
      if (is_new) continue;
      const std::string one = text_of(positions[before->second], first);
      const std::string other = text_of(positions[p], first);
      fail(path, one == other ? fmt::format("has the value {} twice", in_quotes(one))
                              : fmt::format("has the same value twice: {} and {}", in_quotes(one),
                                            in_quotes(other)));
    }
  }

  std::string text_of(const std::vector<std::size_t>& values, std::size_t first) const {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i)
      text += (i == 0 ? "" : " / ") + axes_[first + i].labels[values[i]];
    return text;
  }

  /// Axes before this one of which nothing would be left.
  void refuse_covered(const StudyAxis& axis, const std::string& place) const {
    for (const StudyAxis& other : axes_)
      for (const std::string& path : other.paths)
        for (const std::string& later : axis.paths)
          if (covers(later, path))
            fail(place, fmt::format("sets {} again, which is axis {}", in_quotes(path),
                                    in_quotes(other.name)));
  }

  Positions zipped(const std::vector<ZippedSpec>& parts, const std::string& path) {
    Positions side_by_side;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string place = join_path(path, std::to_string(i));
      Positions part;
      if (parts[i].cross.empty()) {
        part = axis(parts[i].axis, place);
      } else {
        refuse_axis(parts[i].axis, place, "cross");
        part = crossed(parts[i].cross, join_path(place, "cross"));
      }
      if (i == 0) side_by_side.resize(part.size());
      if (part.size() != side_by_side.size())
        fail(place, fmt::format("has {} values and those before it {}: a zip needs as many of each",
                                part.size(), side_by_side.size()));
      for (std::size_t p = 0; p < part.size(); ++p)
        side_by_side[p].insert(side_by_side[p].end(), part[p].begin(), part[p].end());
    }
    return side_by_side;
  }

  Positions crossed(const std::vector<AxisSpec>& parts, const std::string& path) {
    Positions all{{}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Positions part = axis(parts[i], join_path(path, std::to_string(i)));
      if (all.size() > kMaxPoints / part.size()) fail(path, "makes too many points");
      Positions longer;
      for (const std::vector<std::size_t>& before : all)
        for (const std::vector<std::size_t>& next : part) {
          longer.push_back(before);
          longer.back().push_back(next[0]);
        }
      all = std::move(longer);
    }
    return all;
  }

  /// Adds it to the axes. A position is just one of its values.
  Positions axis(const AxisSpec& spec, const std::string& path) {
    StudyAxis made;
    made.paths = spec.paths;
    if (spec.path) made.paths = {*spec.path};
    if (spec.path.has_value() == !spec.paths.empty())
      fail(path, spec.path ? "has both \"path\" and \"paths\"; choose one"
                           : "has neither \"path\" nor \"paths\"");
    made.name = spec.name.value_or(last_word(made.paths[0]));
    for (const StudyAxis& other : axes_)
      if (other.name == made.name)
        fail(path, "two axes are called " + in_quotes(made.name) + "; give one a \"name\"");
    if (made.name == kRepeat) fail(path, "an axis cannot be called \"repeat\"; give it a \"name\"");
    made.values = values_of(spec, path);
    if (!spec.presets.empty())
      for (std::string& target : made.paths) target += ".preset";
    refuse_covered(made, path);
    for (const JsonNode& value : made.values) made.labels.push_back(label_of(value));
    made.shown = shown_for(made.labels);
    Positions positions;
    for (std::size_t i = 0; i < made.values.size(); ++i) positions.push_back({i});
    axes_.push_back(std::move(made));
    return positions;
  }

  std::vector<JsonNode> values_of(const AxisSpec& spec, const std::string& path) const {
    const int given =
        static_cast<int>(spec.values != nullptr) + static_cast<int>(spec.linear.has_value()) +
        static_cast<int>(spec.log.has_value()) + static_cast<int>(!spec.presets.empty());
    if (given != 1) fail(path, "needs one of \"values\", \"linear\", \"log\" and \"presets\"");
    if (spec.values != nullptr) {
      if (spec.values->children().empty()) fail(join_path(path, "values"), "is empty");
      return spec.values->children();
    }
    if (!spec.presets.empty()) {
      std::vector<JsonNode> names;
      for (const std::string& name : spec.presets) {
        names.push_back(JsonNode::string(name));
        names.back().set_place(document_);
      }
      return names;
    }
    try {
      return range_of(spec);
    } catch (const ConfigError& error) {  // it knows its line, but not its path
      ConfigError::Detail detail = error.detail();
      detail.path = join_path(join_path(path, spec.linear ? "linear" : "log"), detail.path);
      throw ConfigError(std::move(detail));
    }
  }

  static std::vector<JsonNode> range_of(const AxisSpec& spec) {
    if (spec.linear)
      return linear_range({*spec.linear->from, *spec.linear->to}, spec.linear->steps);
    const RangeEnds ends{*spec.log->from, *spec.log->to};
    return logarithmic_range(
        ends, spec.log->steps ? *spec.log->steps : count_of_decades(ends, *spec.log->per_decade));
  }

  const JsonNode& document_;
  std::vector<StudyAxis>& axes_;
};

}  // namespace

StudyPlan::StudyPlan(const JsonNode& document, StudySpec spec) : spec_(std::move(spec)) {
  Planner planner(document, axes_);
  std::size_t points = spec_.repeats;
  for (std::size_t i = 0; i < spec_.axes.size(); ++i) {
    dimensions_.push_back(planner.dimension(spec_.axes[i], "axes." + std::to_string(i)));
    const std::size_t count = dimensions_.back().positions.size();
    if (count > kMaxPoints / points)
      fail_check(document, "axes", fmt::format("make more than {} points", kMaxPoints));
    points *= count;
  }
  check_columns(document);
  const auto changes_seed = [](const StudyAxis& axis) {
    return std::find(axis.paths.begin(), axis.paths.end(), "seed") != axis.paths.end();
  };
  if (spec_.repeats > 1 && std::any_of(axes_.begin(), axes_.end(), changes_seed))
    fail_check(document, "repeats", "an axis sets the seed already");
}

/// Of the results: each has a name of its own.
void StudyPlan::check_columns(const JsonNode& document) const {
  std::vector<std::string> names{"repeat", "error"};
  const auto add = [&](const std::string& name, const std::string& path) {
    if (std::find(names.begin(), names.end(), name) != names.end())
      fail_check(document, path, in_quotes(name) + " is already the name of another column");
    names.push_back(name);
  };
  for (std::size_t i = 0; i < axes_.size(); ++i) add(axes_[i].name, "axes." + std::to_string(i));
  if (spec_.cost) add(spec_.cost->name, "cost.name");
  for (std::size_t i = 0; i < spec_.metrics.size(); ++i)
    add(spec_.metrics[i].name, fmt::format("metrics.{}.name", i));
}

std::size_t StudyPlan::size() const {
  std::size_t points = spec_.repeats;
  for (const StudyDimension& dimension : dimensions_) points *= dimension.positions.size();
  return points;
}

StudyPoint StudyPlan::point(std::size_t index) const {
  StudyPoint point;
  point.index = index;
  point.repeat = static_cast<std::uint32_t>(index % spec_.repeats);
  point.positions.resize(dimensions_.size());
  std::size_t rest = index / spec_.repeats;
  for (std::size_t d = dimensions_.size(); d-- > 0;) {
    const std::size_t count = dimensions_[d].positions.size();
    point.positions[d] = rest % count;
    rest /= count;
  }
  return point;
}

std::size_t StudyPlan::value_at(const StudyPoint& point, std::size_t axis) const {
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const StudyDimension& dimension = dimensions_[d];
    for (std::size_t i = 0; i < dimension.axes.size(); ++i)
      if (dimension.axes[i] == axis) return dimension.positions[point.positions[d]][i];
  }
  return 0;
}

const std::string& StudyPlan::label(const StudyPoint& point, std::size_t axis) const {
  return axes_[axis].labels[value_at(point, axis)];
}

const std::string& StudyPlan::shown(const StudyPoint& point, std::size_t axis) const {
  return axes_[axis].shown[value_at(point, axis)];
}

std::string StudyPlan::position_label(std::size_t dimension, std::size_t position) const {
  const StudyDimension& of = dimensions_[dimension];
  std::string text;
  for (std::size_t i = 0; i < of.axes.size(); ++i)
    text += (i == 0 ? "" : " / ") + axes_[of.axes[i]].shown[of.positions[position][i]];
  return text;
}

std::vector<JsonNode> StudyPlan::changes(const StudyPoint& point) const {
  std::vector<JsonNode> changes;
  if (spec_.set != nullptr) changes = spec_.set->children();
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const StudyDimension& dimension = dimensions_[d];
    const std::vector<std::size_t>& position = dimension.positions[point.positions[d]];
    for (std::size_t i = 0; i < dimension.axes.size(); ++i) {
      const StudyAxis& axis = axes_[dimension.axes[i]];
      for (const std::string& path : axis.paths) {
        changes.push_back(axis.values[position[i]]);
        changes.back().rename(path);
      }
    }
  }
  return changes;
}

std::size_t StudyPlan::axis_called(const std::string& name) const {
  std::vector<std::string> known{kRepeat};
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) return a;
    known.push_back(axes_[a].name);
  }
  ConfigError::Detail detail;
  detail.file = "--filter";
  detail.found = "no axis " + in_quotes(name);
  detail.nearest = nearest_of(name, known);
  throw ConfigError(std::move(detail));
}

std::vector<std::size_t> StudyPlan::matching(const std::string& filter) const {
  std::vector<std::size_t> indices;
  for (std::size_t index = 0; index < size(); ++index) {
    const StudyPoint at = point(index);
    const auto exact = [&](const std::string& name) {
      return name == kRepeat ? std::to_string(at.repeat) : label(at, axis_called(name));
    };
    const auto rounded = [&](const std::string& name) {
      return name == kRepeat ? std::to_string(at.repeat) : shown(at, axis_called(name));
    };
    try {
      if (filter.empty() || truth_of_expression(filter, exact, rounded)) indices.push_back(index);
    } catch (const ConfigError& error) {
      ConfigError::Detail detail = error.detail();
      detail.file = "--filter";
      throw ConfigError(std::move(detail));
    }
  }
  return indices;
}

}  // namespace rnicsim
