// SPDX-License-Identifier: MIT
// A distribution of flow sizes, given by points of its cumulative distribution function and linear
// between them.
//
// Built in: the points that HPCC and its descendants ship (WebSearch, AliStorage2019, FbHadoop).
// Files: `size_bytes cumulative` a line, ascending, from 0 to 100 (percent) or to 1 (fraction): the
// last value tells which. The same name in two repositories is not the same curve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/random.h"
#include "model/units.h"

namespace rnicsim {

class FlowSizes {
 public:
  struct Point {
    std::uint64_t bytes = 0;
    double share = 0;  ///< of all flows that are this long or shorter
  };

  /// Nothing if there is none of that name; capitals, "-" and "_" do not matter.
  static std::optional<FlowSizes> built_in(std::string_view name);
  static std::vector<std::string> built_in_names();
  /// Throws ConfigError.
  static FlowSizes read(std::string_view text, const std::string& file);
  static FlowSizes always(Bytes bytes);

  Bytes draw(Random& random) const;
  double mean() const;  ///< bytes
  const std::vector<Point>& points() const { return points_; }

 private:
  explicit FlowSizes(std::vector<Point> points) : points_(std::move(points)) {}
  std::vector<Point> points_;  ///< at least two; the first has share 0, the last 1
};

}  // namespace rnicsim
