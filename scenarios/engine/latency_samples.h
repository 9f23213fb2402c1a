// SPDX-License-Identifier: MIT
// Stage times of a workload's messages, for percentiles: of every message, or, when there are more
// than kept, of every second, fourth, ... from the first on, so that memory is bounded and what is
// kept is spread over the whole run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/engine/latency_result.h"

namespace rnicsim {

class LatencySamples {
 public:
  explicit LatencySamples(std::size_t most) : most_(most) {}

  /// A message begins. False: it need not be followed.
  bool wants_next() { return begun_++ % stride_ == 0; }
  /// One that was wanted has come to its end, as the `nth` to have begun.
  void add(std::uint64_t nth, const MessageTimes& message);
  /// How many have begun.
  std::uint64_t begun() const { return begun_; }

  WorkloadLatency result(const std::string& workload) const;

 private:
  struct Sample {
    std::uint64_t nth = 0;
    MessageTimes message;  ///< without pieces
  };

  std::size_t most_;
  std::uint64_t begun_ = 0;
  std::uint64_t stride_ = 1;
  std::vector<Sample> samples_;
};

}  // namespace rnicsim
