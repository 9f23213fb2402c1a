// SPDX-License-Identifier: MIT
// The packets of a switch that are flooded and have not all left: of each the copies share one
// place in the ingress port's buffer, which is free when the last copy has left. They carry a
// number in the place of their ingress port that leads here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/packet.h"

namespace rnicsim {

class Flooding {
 public:
  /// What the ingress of `copies` of a packet is to be; nothing if too many are under way.
  std::optional<std::uint16_t> begin(std::uint16_t ingress, std::size_t copies);
  /// The port that a packet came in by, flooded or not.
  std::uint16_t ingress_of(const Packet& packet) const {
    return packet.is_flooded() ? ingress_of(packet.ingress) : packet.ingress;
  }
  std::uint16_t ingress_of(std::uint16_t number) const {
    return floods_[number - Packet::kFlooded].ingress;
  }
  /// A copy has left. Returns true if it was the last one; its number is then free.
  bool last_left(std::uint16_t number);

 private:
  struct Flood {
    std::uint16_t ingress = 0;
    std::size_t copies = 0;
  };
  std::vector<Flood> floods_;
  std::vector<std::uint16_t> free_;  ///< numbers
};

}  // namespace rnicsim
