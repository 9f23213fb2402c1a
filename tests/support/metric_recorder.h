// SPDX-License-Identifier: MIT
// Keeps exact metrics by path, for a look at counters. Two metrics of one path are a mistake of
// the blocks that report them.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "model/metrics.h"

namespace rnicsim::test {

struct MetricRecorder : MetricSink {
  std::map<std::string, std::uint64_t> values;
  void add(const std::string& path, std::uint64_t value, Unit, const char*) override {
    if (!values.emplace(path, value).second)
      throw std::logic_error("two metrics have the path " + path);
  }
  void add_real(const std::string&, double, Unit, const char*) override {}
};

/// What `block` reports, without a path before it.
template <class Block>
std::map<std::string, std::uint64_t> metrics_of(Block& block) {
  MetricRecorder sink;
  block.report(MetricScope(sink, ""));
  std::map<std::string, std::uint64_t> values;
  for (const auto& [path, value] : sink.values) values[path.substr(1)] = value;
  return values;
}

}  // namespace rnicsim::test
