// SPDX-License-Identifier: MIT
// The results of a study's points that have been simulated: DIR/points/KEY.json, each there whole
// or not at all. A point that failed is kept for --merge, and simulated anew by everything else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "scenarios/engine/study_runner.h"

namespace rnicsim {

/// While it lives, nobody else simulates the point.
class PointClaim {
 public:
  PointClaim(std::string file, int descriptor) : file_(std::move(file)), descriptor_(descriptor) {}
  PointClaim(const PointClaim&) = delete;
  PointClaim& operator=(const PointClaim&) = delete;
  ~PointClaim();

 private:
  std::string file_;
  int descriptor_;
};

class PointStore {
 public:
  explicit PointStore(const std::string& folder);

  const std::string& folder() const { return folder_; }
  bool is_empty() const;
  /// Nothing: it has not been simulated, or its file is of no use.
  std::optional<PointOutcome> find(const std::string& key) const;
  /// Null: another process has it.
  std::unique_ptr<PointClaim> claim(const std::string& key) const;
  /// Throws ConfigError if it cannot be written.
  void keep(const std::string& key, const PointOutcome& outcome) const;

 private:
  std::string folder_;
};

}  // namespace rnicsim
