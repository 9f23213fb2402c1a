// SPDX-License-Identifier: MIT
#include "model/priority_arbiter.h"

#include <algorithm>

namespace rnicsim {

namespace {

/// What the least weight has a round, in bytes: any frame fits, so that no turn goes by in vain.
constexpr std::uint64_t kQuantumBytes = 9216 + 64;

}  // namespace

void PriorityWeight::describe(Fields& fields) {
  fields.required().field("priority", priority, range(0, 7), "which one");
  fields.required().field("weight", weight, range(1, 100),
                          "its share of what strict priorities leave, against those of the others");
}

std::string text_of(PrioritySet priorities) {
  std::string text;
  for_each_priority(priorities, [&](std::uint8_t priority) {
    text += (text.empty() ? "" : ", ") + std::to_string(priority);
  });
  return text;
}

PrioritySet set_of(const std::vector<std::uint8_t>& priorities) {
  unsigned set = 0;
  for (const std::uint8_t priority : priorities) set |= priority_bit(priority);
  return static_cast<PrioritySet>(set);
}

void describe_priorities(Fields& fields, const char* name, std::vector<std::uint8_t>& priorities,
                         const char* text) {
  fields.list(name, priorities, ListLimits{0, kPriorities}, text);
  for (const std::uint8_t priority : priorities)
    fields.check(priority < kPriorities, name, "must be priorities from 0 to 7");
}

PriorityArbiter::PriorityArbiter(const std::vector<PriorityWeight>& weights) {
  for (const PriorityWeight& each : weights) {
    weighted_ = static_cast<PrioritySet>(weighted_ | priority_bit(each.priority));
    quantum_[each.priority] = each.weight * kQuantumBytes;
    byte_price_ = std::min<std::uint64_t>(byte_price_, each.weight);
  }
}

}  // namespace rnicsim
