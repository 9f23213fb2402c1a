// SPDX-License-Identifier: MIT
#include "fabric/link.h"

#include <algorithm>

namespace rnicsim {

void LinkDirection::receive(PacketRef packet) {
  ++entered_;
  entered_bytes_ += packet->frame_bytes();
  busy_ += packet->tail - packet->head;
  packet->head += propagation_;
  packet->tail += propagation_;
  ring_.push(std::move(packet));
  most_in_flight_ = std::max(most_in_flight_, ring_.size());
  if (ring_.size() == 1) arm();
}

Time LinkDirection::delivery(const Packet& packet) const {
  if (!cut_through_) return packet.tail;
  return std::min(packet.tail, packet.head + first_64_);
}

void LinkDirection::arm() {
  const Time at = std::max(delivery(*ring_.front()), scheduler_.now());
  scheduler_.at_arrival(at, number_, call<&LinkDirection::deliver>(this));
}

void LinkDirection::deliver() {
  PacketRef packet = ring_.take();
  ++left_;
  left_bytes_ += packet->frame_bytes();
  if (!ring_.empty()) arm();
  sink_->receive(std::move(packet));
}

void LinkDirection::report(const MetricScope& scope) const {
  scope.count("packets", left_, "packets carried");
  scope.bytes("bytes", left_bytes_, "bytes of frames carried, with FCS");
  scope.time("busy", busy_, "time in which bits of frames entered");
  scope.count("occupancy.max", most_in_flight_, "most packets on the cable at once");
}

}  // namespace rnicsim
