// SPDX-License-Identifier: MIT
#include "nic/mac_rx.h"

#include <algorithm>

#include "model/icrc.h"
#include "model/invariant.h"

namespace rnicsim {

void MacRxConfig::describe(Fields& fields) {
  fields.field("receive_buffer", receive_buffer, range(Bytes(2048), Bytes(1 << 30)),
               "bytes of frames held between the wire and PCIe");
  fields.object("parser", parser, "header parser, FCS and ICRC check");
}

namespace {

/// Why the checks of the port drop a packet; null if they do not.
const char* damage_of(const Packet& packet) {
  if (packet.bad_fcs) return "dropped: wrong FCS";
  return icrc_ok(packet) ? nullptr : "dropped: wrong ICRC";
}

}  // namespace

void MacRx::receive(PacketRef packet) {
  const Time now = scheduler_.now();
  const Bytes frame = packet->frame_bytes();
  ++packets_;
  bytes_ += frame;
  probe(now, ProbeKind::kPacketReceived, packet->work_request, packet->id,
        static_cast<std::uint64_t>(packet->head.ps()), frame.count());
  const char* damage = damage_of(*packet);
  tap(*packet, packet->tail, PacketDirection::kInbound, damage);
  if (packet->bad_fcs) {
    ++crc_errors_;
    return;
  }
  if (damage != nullptr) {
    ++icrc_errors_;
    return;
  }
  const Bth& bth = packet->bth;
  // What RC leaves undefined is the responder's to refuse (IBTA 9.7.4.1.4), others drop it.
  const bool known = bth.transport == WireTransport::kRc || is_defined(bth.transport, bth.opcode);
  if (bth.transport == WireTransport::kCnp || !known) {
    ++unknown_opcodes_;
    return;
  }
  take_room(frame);
  const Time ready = parser_.enter(now);
  if (is_response(bth.opcode))
    completer_->receive(std::move(packet), ready);
  else
    responder_->receive(std::move(packet), ready);
}

void MacRx::take_room(Bytes frame) {
  occupied_ += frame;
  most_occupied_ = std::max(most_occupied_, occupied_);
  if (occupied_ <= config_.receive_buffer) return;
  throw InvariantBroken(name_, scheduler_.now(),
                        "the receive buffer of " + std::to_string(config_.receive_buffer.count()) +
                            " B overflows: a lossless packet would be dropped, " +
                            std::to_string((occupied_ - config_.receive_buffer).count()) +
                            " B more are needed",
                        "lossless_drop");
}

void MacRx::report(const MetricScope& scope) const {
  scope.count("rx_packets", packets_, "Ethernet frames received");
  scope.bytes("rx_bytes", bytes_, "bytes of Ethernet frames received, with FCS");
  scope.count("rx_crc_errors", crc_errors_, "frames dropped because their FCS was wrong");
  scope.count("rx_icrc_errors", icrc_errors_, "packets dropped because their ICRC was wrong");
  scope.count("rx_unknown_opcodes", unknown_opcodes_,
              "packets dropped: no opcode of this transport");
  scope.bytes("receive_buffer.occupancy.max", most_occupied_, "most bytes held at once");
  scope.count("parser.packets", parser_.entered(), "packets parsed");
  scope.time("parser.busy", parser_.busy(), "time the parser was taken");
  scope.time("parser.stalled.interval", parser_.stalled(), "packets waited for the parser");
}

}  // namespace rnicsim
