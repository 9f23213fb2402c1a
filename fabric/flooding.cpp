// SPDX-License-Identifier: MIT
#include "fabric/flooding.h"

namespace rnicsim {

std::optional<std::uint16_t> Flooding::begin(std::uint16_t ingress, std::size_t copies) {
  if (free_.empty()) {
    if (floods_.size() == Packet::kFlooded) return std::nullopt;
    free_.push_back(static_cast<std::uint16_t>(Packet::kFlooded + floods_.size()));
    floods_.emplace_back();
  }
  const std::uint16_t number = free_.back();
  free_.pop_back();
  floods_[number - Packet::kFlooded] = {ingress, copies};
  return number;
}

bool Flooding::last_left(std::uint16_t number) {
  if (--floods_[number - Packet::kFlooded].copies != 0) return false;
  free_.push_back(number);
  return true;
}

}  // namespace rnicsim
