// SPDX-License-Identifier: MIT
// Which priority sends next at a port: strict ones first, the highest number first; then the others
// share what is left by deficit-weighted round robin (IEEE 802.1Qaz ETS). One for switches and
// NICs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/pause_frame.h"
#include "model/units.h"

namespace rnicsim {

/// A priority that shares by weight; those that nobody lists are strict.
struct PriorityWeight {
  std::uint8_t priority = 0;
  std::uint32_t weight = 1;
  void describe(Fields& fields);
};

/// A set of priorities, bit by bit.
using PrioritySet = std::uint8_t;
constexpr PrioritySet priority_bit(std::uint8_t priority) {
  return static_cast<PrioritySet>(1U << priority);
}
constexpr bool contains(PrioritySet set, std::uint8_t priority) {
  return (set >> priority & 1) != 0;
}

template <class Function>
void for_each_priority(PrioritySet set, Function function) {
  for (unsigned left = set; left != 0; left &= left - 1)
    function(static_cast<std::uint8_t>(__builtin_ctz(left)));
}
PrioritySet set_of(const std::vector<std::uint8_t>& priorities);
/// "3, 5"
std::string text_of(PrioritySet priorities);
/// A field that lists priorities.
void describe_priorities(Fields& fields, const char* name, std::vector<std::uint8_t>& priorities,
                         const char* text);

class PriorityArbiter {
 public:
  explicit PriorityArbiter(const std::vector<PriorityWeight>& weights);

  /// One of `eligible`, which then sends: `frame_bytes(p)` is the length of what it sends.
  /// `waiting` are those that have anything to send, paused ones too: they keep what they have
  /// saved up. Negative: none is eligible.
  template <class FrameBytes>
  int choose(PrioritySet eligible, PrioritySet waiting, FrameBytes frame_bytes) {
    if (eligible == 0) return -1;
    const auto strict = static_cast<PrioritySet>(eligible & ~weighted_);
    if (strict != 0) return 31 - __builtin_clz(strict);
    while (true) {
      if (contains(eligible, turn_)) {
        if (fresh_) deficit_[turn_] += quantum_[turn_];
        fresh_ = false;
        const std::uint64_t price = frame_bytes(turn_).count() * byte_price_;
        if (deficit_[turn_] >= price) {
          deficit_[turn_] -= price;
          return turn_;
        }
      } else if (!contains(waiting, turn_)) {
        deficit_[turn_] = 0;
      }
      turn_ = static_cast<std::uint8_t>((turn_ + 1) % kPriorities);
      fresh_ = true;
    }
  }

 private:
  PrioritySet weighted_ = 0;
  std::uint8_t turn_ = 0;
  bool fresh_ = true;  ///< the turn has not been given its quantum yet
  std::array<std::uint64_t, kPriorities> quantum_{};
  std::array<std::uint64_t, kPriorities> deficit_{};
  std::uint64_t byte_price_ = ~0ULL;  ///< the least weight, so that its quantum is the least
};

}  // namespace rnicsim
