// SPDX-License-Identifier: MIT
// What is under way in a pipeline and becomes void when its queue pair goes back, fails or is
// reset: it remembers a count of the queue pair's, which has moved on by then.
#pragma once

#include <cstdint>

namespace rnicsim {

class Epoch {
 public:
  /// Never over.
  Epoch() = default;
  /// Over once `counter` counts on. REQUIRES: it outlives this.
  explicit Epoch(const std::uint32_t& counter) : counter_(&counter), value_(counter) {}
  bool is_over() const { return counter_ != nullptr && *counter_ != value_; }

 private:
  const std::uint32_t* counter_ = nullptr;
  std::uint32_t value_ = 0;
};

}  // namespace rnicsim
