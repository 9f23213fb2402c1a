// SPDX-License-Identifier: MIT
// One entry of a scenario's "expect": a metric and what it must be, or a violation that is the
// expected result. Reading only; the comparison with a run's result is elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/metrics.h"

namespace rnicsim {

/// A number, or a quantity in the unit that metrics have (ps, B, b/s, cycles; "15 %" is 0.15).
/// Doubles hold every whole value up to 2^53: 2.5 hours in picoseconds.
struct ExpectedValue {
  double value = 0;
  Unit unit = Unit::kCount;  ///< kCount also stands for a bare number of whatever metric
  std::string text;          ///< as the file has it
};

struct ExpectationSpec {
  enum class Relation : std::uint8_t { kEquals, kAtLeast, kAtMost, kBetween };

  // As the file has it.
  std::optional<std::string> id;
  std::optional<std::string> metric;
  std::optional<std::string> violation;
  std::optional<std::string> variant;
  std::optional<std::string> ratio_to;
  std::optional<std::string> difference_to;
  std::optional<std::string> source;
  std::optional<std::string> missed;  ///< known not to hold: the mechanism believed missing
  std::optional<std::string> curve;   ///< it is a point of this one, at the x value `at`
  AnyJson at;
  AnyJson equals;
  AnyJson tolerance;
  AnyJson at_least;
  AnyJson at_most;
  AnyJson between;
  void describe(Fields& f);

  // What it means, filled in by interpret().
  struct MetricName {
    std::string variant;  ///< empty: the scenario itself
    std::string path;
  };
  MetricName measured;   ///< of a violation with a variant: only that
  MetricName reference;  ///< of ratio_to and difference_to
  Relation relation = Relation::kEquals;
  ExpectedValue low;             ///< the bound; of kEquals the value
  ExpectedValue high;            ///< of kBetween
  double allowed_deviation = 0;  ///< of kEquals, in the unit of the value
  ExpectedValue x;               ///< of a point of a curve

  /// Checks the entry as a whole; `path` and `node` are where it stands. Throws ConfigError.
  void interpret(const JsonNode& node, const std::string& path,
                 const std::vector<std::string>& variants);
};

}  // namespace rnicsim
