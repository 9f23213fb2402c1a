// SPDX-License-Identifier: MIT
// Metrics: blocks keep plain counters and, when asked after a run, name them. Paths read left to
// right ("host.A.nic0.translation_cache.misses"); a parent prefixes its children's.
#pragma once

#include <cstdint>
#include <string>

#include "model/units.h"

namespace rnicsim {

enum class Unit : std::uint8_t {
  kCount,
  kBytes,
  kPicoseconds,
  kCycles,
  kBitsPerSecond,
  kPerSecond,
  kRatio
};

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// Exact values. The description is for `rnicsim list metrics`; give it in the block's words.
  virtual void add(const std::string& path, std::uint64_t value, Unit unit,
                   const char* description) = 0;
  /// Derived values (rates, ratios).
  virtual void add_real(const std::string& path, double value, Unit unit,
                        const char* description) = 0;
};

/// A MetricSink seen from one block: puts the block's path before each name.
class MetricScope {
 public:
  MetricScope(MetricSink& sink, std::string path) : sink_(sink), path_(std::move(path)) {}
  MetricScope child(const std::string& name) const { return {sink_, path_ + "." + name}; }
  void count(const std::string& name, std::uint64_t n, const char* description) const {
    sink_.add(path_ + "." + name, n, Unit::kCount, description);
  }
  void bytes(const std::string& name, Bytes n, const char* description) const {
    sink_.add(path_ + "." + name, n.count(), Unit::kBytes, description);
  }
  void time(const std::string& name, Time t, const char* description) const {
    sink_.add(path_ + "." + name, static_cast<std::uint64_t>(t.ps()), Unit::kPicoseconds,
              description);
  }
  void rate(const std::string& name, double bits_per_second, const char* description) const {
    sink_.add_real(path_ + "." + name, bits_per_second, Unit::kBitsPerSecond, description);
  }
  void cycles(const std::string& name, Cycles n, const char* description) const {
    sink_.add(path_ + "." + name, n.count(), Unit::kCycles, description);
  }

 private:
  MetricSink& sink_;
  std::string path_;
};

}  // namespace rnicsim
