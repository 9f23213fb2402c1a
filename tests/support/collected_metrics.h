// SPDX-License-Identifier: MIT
// A MetricSink that keeps whole values by path, and refuses a path that comes twice.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "model/metrics.h"

namespace rnicsim::test {

struct CollectedMetrics : MetricSink {
  void add(const std::string& path, std::uint64_t value, Unit, const char*) override {
    REQUIRE(values.emplace(path, value).second);
  }
  void add_real(const std::string&, double, Unit, const char*) override {}
  std::map<std::string, std::uint64_t> values;
};

/// What `block` reports, without a path before it.
template <class Block>
std::map<std::string, std::uint64_t> metrics_of(Block& block) {
  CollectedMetrics sink;
  block.report(MetricScope(sink, ""));
  std::map<std::string, std::uint64_t> values;
  for (const auto& [path, value] : sink.values) values[path.substr(1)] = value;
  return values;
}

}  // namespace rnicsim::test
