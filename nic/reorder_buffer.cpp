// SPDX-License-Identifier: MIT
#include "nic/reorder_buffer.h"

#include <algorithm>

#include "nic/mac_rx.h"

namespace rnicsim {

void ReorderBufferConfig::describe(Fields& fields) {
  fields.field("window", window, range(1, 1 << 16),
               "selective repeat: PSNs ahead of the expected one that a queue pair may keep");
  fields.field(
      "room", room, range(Bytes(0), Bytes(1 << 30)),
      "selective repeat: bytes of the receive buffer that may be kept for all queue pairs");
}

namespace {

/// Slots are a power of two, so that a PSN's low bits tell its slot when PSNs wrap, too.
std::size_t slots_for(std::uint32_t window) {
  std::size_t slots = 1;
  while (slots < window) slots *= 2;
  return slots;
}

}  // namespace

PacketRef& ReorderBuffer::slot(ReorderWindow& window, Psn psn) const {
  if (window.slots.empty()) window.slots.resize(slots_for(config_.window));
  return window.slots[psn.value() & (window.slots.size() - 1)];
}

ReorderBuffer::ReorderBuffer(MacRx& mac_rx, const ReorderBufferConfig& config)
    : mac_rx_(mac_rx), config_(config) {
  config_.room = std::min(config_.room, mac_rx.spare_room());
}

bool ReorderBuffer::hold(ReorderWindow& window, Psn expected, const PacketRef& packet,
                         std::uint32_t span, Hole& hole) {
  const Psn psn = packet->bth.psn;
  if (psn - expected >= static_cast<std::int32_t>(config_.window)) {
    ++outside_;
    // What is expected is missing; what else is will show when this comes again.
    if (!window.open) hole = reveal(window, expected, expected + 1);
    return false;
  }
  hole = reveal(window, expected, psn);
  PacketRef& slot = this->slot(window, psn);
  if (slot && slot->bth.psn == psn) {
    ++duplicates_;
    return false;
  }
  if (slot) evict(window, slot);  // the window has moved past it: nobody wanted it
  const Bytes room = mac_rx_.room_of(*packet);
  if (occupied_ + room > config_.room) {
    ++no_room_;
    return false;
  }
  if (psn + span - window.heard > 0) window.heard = psn + span;
  slot = packet;
  ++window.held;
  ++held_;
  occupied_ += room;
  most_occupied_ = std::max(most_occupied_, occupied_);
  return true;
}

Hole ReorderBuffer::reveal(ReorderWindow& window, Psn expected, Psn limit) {
  const Psn from = window.open ? window.heard : expected;
  Hole hole{from, 0};
  if (limit - from <= 0) return hole;
  window.open = true;
  window.heard = limit;
  hole.count = static_cast<std::uint32_t>(limit - from);
  ++holes_;
  missing_ += hole.count;
  return hole;
}

PacketRef ReorderBuffer::take(ReorderWindow& window, Psn expected) {
  if (!window.open) return {};
  if (window.heard - expected <= 0) drop(window);
  if (window.held == 0) return {};
  PacketRef& slot = this->slot(window, expected);
  if (!slot || slot->bth.psn != expected) return {};
  --window.held;
  occupied_ -= mac_rx_.room_of(*slot);
  return std::move(slot);
}

std::uint32_t ReorderBuffer::missing_run(const ReorderWindow& window, Psn first, Psn limit) {
  const auto span = static_cast<std::uint32_t>(limit - first);
  if (window.held == 0) return span;
  const std::size_t slots = window.slots.size();
  for (std::uint32_t i = 0; i < span && i < slots; ++i) {
    const PacketRef& packet = window.slots[(first.value() + i) & (slots - 1)];
    if (packet && packet->bth.psn == first + i) return i;
  }
  return span;
}

void ReorderBuffer::drop(ReorderWindow& window) {
  window.open = false;
  if (window.held == 0) return;
  for (PacketRef& packet : window.slots)
    if (packet) evict(window, packet);
}

void ReorderBuffer::evict(ReorderWindow& window, PacketRef& slot) {
  --window.held;
  occupied_ -= mac_rx_.room_of(*slot);
  mac_rx_.release(*slot);
  slot.reset();
}

void ReorderBuffer::report(const MetricScope& scope) const {
  scope.count("held", held_, "packets kept until those before them had come");
  scope.count("holes", holes_, "times that a packet showed others to be missing");
  scope.count("missing", missing_, "PSNs that were missing");
  scope.count("duplicates", duplicates_, "packets dropped: one of the same PSN was here");
  scope.count("outside_window", outside_, "packets dropped: too far ahead of what was expected");
  scope.count("no_room", no_room_, "packets dropped: all the room was taken");
  scope.bytes("occupancy.max", most_occupied_, "most bytes kept at once");
}

}  // namespace rnicsim
