// SPDX-License-Identifier: MIT
// Packet taps: where a capture looks at the packets that pass a port. A block owns a tap point and
// shows every packet with its port's direction; with no tap attached that costs one pointer test.
// Looking never changes a time.
#pragma once

#include <cstdint>

#include "model/packet.h"
#include "model/units.h"

namespace rnicsim {

enum class PacketDirection : std::uint8_t { kInbound, kOutbound };

class PacketTap {
 public:
  virtual ~PacketTap() = default;
  /// `time`: the last bit passes the port; not before now. `comment` says what became of a packet
  /// that goes no further or is damaged ("dropped: wrong ICRC"), null of any other; the tap keeps
  /// a copy. A link that loses a packet shows it to its receiver's port, inbound, with a comment.
  virtual void packet(std::uint32_t port, const Packet& packet, Time time,
                      PacketDirection direction, const char* comment) = 0;
};

class PacketTapPoint {
 public:
  /// Called once by whoever wires the system; `port` is the tap's number for this block's port.
  void attach(PacketTap* tap, std::uint32_t port) {
    tap_ = tap;
    port_ = port;
  }
  void operator()(const Packet& packet, Time time, PacketDirection direction,
                  const char* comment = nullptr) const {
    if (tap_ != nullptr) tap_->packet(port_, packet, time, direction, comment);
  }

 private:
  PacketTap* tap_ = nullptr;
  std::uint32_t port_ = 0;
};

}  // namespace rnicsim
