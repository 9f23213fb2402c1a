// SPDX-License-Identifier: MIT
// The random numbers of one program: everything that it chooses comes from its seed, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/random.h"

namespace rnicsim::stress {

using Data = std::vector<std::uint8_t>;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed_for(seed, "stress")) {}
  std::uint64_t next() { return random_.next(); }
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_.below(n)); }
  bool chance(unsigned one_in) { return random_.below(one_in) == 0; }
  Data data(std::size_t bytes) {
    Data data(bytes);
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::uint64_t word = random_.next();
      for (std::size_t j = i; j < std::min(bytes, i + 8); ++j)
        data[j] = static_cast<std::uint8_t>(word >> (8 * (j - i)));
    }
    return data;
  }

 private:
  Random random_;
};

}  // namespace rnicsim::stress
