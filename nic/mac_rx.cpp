// SPDX-License-Identifier: MIT
#include "nic/mac_rx.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/icrc.h"
#include "model/invariant.h"

namespace rnicsim {

void MacRxConfig::describe(Fields& fields) {
  fields.field("receive_buffer", receive_buffer, range(Bytes(2048), Bytes(1 << 30)),
               "bytes of frames held between the wire and PCIe");
  fields.optional("lossy_buffer", lossy_buffer, range(Bytes(0), Bytes(1 << 30)),
                  "what packets of lossy priorities may take of the receive buffer where others "
                  "are lossless; if not given, half of what headroom leaves");
  fields.object("parser", parser, "header parser, FCS and ICRC check");
  fields.field("cut_through", cut_through,
               "payload begins to be written to the host before its packet has come wholly");
}

namespace {

const char* wrong_check_of(const Packet& packet) {
  return packet.link_layer == LinkLayer::kInfiniBand ? "dropped: wrong VCRC" : "dropped: wrong FCS";
}

/// Why the checks of the port drop a packet; null if they do not.
const char* damage_of(const Packet& packet) {
  if (packet.bad_fcs) return wrong_check_of(packet);
  if (packet.is_tcp()) return nullptr;
  return icrc_ok(packet) ? nullptr : "dropped: wrong ICRC";
}

/// Its payload goes to host memory as it comes.
bool may_cut_through(const Packet& packet) {
  return packet.kind == FrameKind::kData && packet.payload_length != Bytes() &&
         packet.bth.transport != WireTransport::kCnp && !packet.is_tcp();
}

}  // namespace

MacRx::MacRx(const Wiring& wiring, const MacRxConfig& config, const PortConfig& port)
    : scheduler_(wiring.scheduler),
      config_(config),
      mac_tx_(wiring.mac_tx),
      credit_(mac_tx_.credit()),
      lossless_(credit_ == nullptr ? port.lossless_set() : PrioritySet{0}),
      parser_(wiring.clock, config.parser),
      name_(wiring.name) {
  const auto priorities = static_cast<std::uint64_t>(__builtin_popcount(lossless_));
  const Bytes headroom = port.headroom.value_or(needed_headroom(wiring.cable)) * priorities;
  if (headroom >= config.receive_buffer)
    throw ConfigError({"", 0, "mac_rx.receive_buffer",
                       "more than the " + std::to_string(headroom.count()) +
                           " B of headroom of its lossless priorities",
                       std::to_string(config.receive_buffer.count()) + " B", ""});
  xoff_ = config.receive_buffer - headroom;
  lossy_room_ = config.lossy_buffer.value_or(Bytes(xoff_.count() / 2));
  if (lossy_room_ > xoff_)
    throw ConfigError({"", 0, "mac_rx.lossy_buffer",
                       fmt::format("at most the {} B that headroom leaves", xoff_.count()),
                       fmt::format("{} B", lossy_room_.count()), ""});
  xon_ = xoff_ > wiring.cable.largest_frame ? xoff_ - wiring.cable.largest_frame : Bytes();
}

/// Frames do not overlap on the wire: the next comes after this one's last bit.
void MacRx::receive_whole() { receive(std::move(arriving_)); }

void MacRx::receive(PacketRef packet) {
  const Time now = scheduler_.now();
  if (config_.cut_through && now < packet->tail && !may_cut_through(*packet)) {
    scheduler_.at(packet->tail, call<&MacRx::receive_whole>(this));
    arriving_ = std::move(packet);
    return;
  }
  const Bytes frame = packet->frame_bytes();
  ++packets_;
  bytes_ += frame;
  if (packet->kind != FrameKind::kData) return receive_control(*packet);
  if (probe.on())
    probe(now, ProbeKind::kPacketReceived, packet->work_request, packet->id,
          static_cast<std::uint64_t>(packet->head.ps()), frame.count(), packet->tcp_mark());
  const char* damage = damage_of(*packet);
  tap(*packet, packet->tail, PacketDirection::kInbound, damage);
  if (packet->bad_fcs) {
    ++crc_errors_;
    return;
  }
  if (packet->is_flooded() && packet->eth.destination != mac_tx_.mac()) {
    ++wrong_address_;
    return;
  }
  if (packet->is_tcp()) return take_frame(std::move(packet), frame);
  if (damage != nullptr) return refuse(*packet, icrc_errors_);
  const Bth& bth = packet->bth;
  // What RC leaves undefined is the responder's to refuse (IBTA 9.7.4.1.4), others drop it.
  const bool known = bth.transport == WireTransport::kRc || is_defined(bth.transport, bth.opcode);
  if (!known) return refuse(*packet, unknown_opcodes_);
  if (bth.transport == WireTransport::kCnp) return notify(std::move(packet));
  if (!take_room(*packet, frame)) {
    ++discards_;
    return;
  }
  const Time ready = parser_.enter(now);
  if (is_response(bth.opcode))
    completer_->receive(std::move(packet), ready);
  else
    responder_->receive(std::move(packet), ready);
}

void MacRx::receive_control(const Packet& packet) {
  tap(packet, packet.tail, PacketDirection::kInbound,
      packet.bad_fcs ? wrong_check_of(packet) : nullptr);
  if (packet.bad_fcs)
    ++crc_errors_;
  else if (packet.kind == FrameKind::kCredit)
    credit_->receive(packet.credit);
  else
    mac_tx_.pause_listener().receive(packet.pause);
}

/// Needs no room.
void MacRx::refuse(const Packet& packet, std::uint64_t& counter) {
  ++counter;
  if (credit_ != nullptr) credit_->pass(packet.lrh.virtual_lane, packet.frame_bytes());
}

/// A CNP. Needs none either.
void MacRx::notify(PacketRef packet) {
  if (credit_ != nullptr) credit_->pass(packet->lrh.virtual_lane, packet->frame_bytes());
  notifications_->receive(std::move(packet), parser_.enter(scheduler_.now()));
}

void MacRx::take_frame(PacketRef packet, Bytes frame) {
  if (frames_ == nullptr || !take_room(*packet, frame))
    ++discards_;
  else
    frames_->receive(std::move(packet), parser_.enter(scheduler_.now()));
}

/// False: it is of a lossy priority, and there is none for those.
bool MacRx::take_room(const Packet& packet, Bytes frame) {
  if (credit_ != nullptr) {
    credit_->take(packet.lrh.virtual_lane, frame);
    occupied_ += frame;
    most_occupied_ = std::max(most_occupied_, occupied_);
    return true;
  }
  const std::uint8_t priority = mac_tx_.priority_of(packet);
  const bool lossless = contains(lossless_, priority);
  const Bytes taken = occupied_ + frame;
  if (lossless) {
    if (taken > config_.receive_buffer) overflow(taken);
  } else {
    if (taken > xoff_ || lossy_ + frame > lossy_room()) return false;
    lossy_ += frame;
  }
  occupied_ = taken;
  held_[priority] += frame;
  most_occupied_ = std::max(most_occupied_, occupied_);
  if (lossless && occupied_ >= xoff_) mac_tx_.pause_requester().xoff(priority);
  return true;
}

void MacRx::go_on() {
  for_each_priority(lossless_,
                    [this](std::uint8_t priority) { mac_tx_.pause_requester().xon(priority); });
}

void MacRx::overflow(Bytes wanted) const {
  throw InvariantBroken(name_, scheduler_.now(),
                        "the receive buffer of " + std::to_string(config_.receive_buffer.count()) +
                            " B overflows: a lossless packet would be dropped; headroom is " +
                            std::to_string((config_.receive_buffer - xoff_).count()) + " B, " +
                            std::to_string((wanted - xoff_).count()) + " B are needed by now",
                        "lossless_drop");
}

void MacRx::signals(const SignalScope& scope) {
  parser_.signals(scope, "parser");
  scope.level(
      "receive_buffer", Unit::kBytes, "bytes held of the receive buffer",
      [this] { return occupied_.count(); }, config_.receive_buffer.count());
  scope.total("rx_bytes", Unit::kBytes, "frames received, with FCS",
              [this] { return bytes_.count(); });
}

void MacRx::report(const MetricScope& scope) const {
  scope.count("rx_packets", packets_, "Ethernet frames received");
  scope.bytes("rx_bytes", bytes_, "bytes of Ethernet frames received, with FCS");
  scope.count("rx_crc_errors", crc_errors_, "frames dropped because their FCS was wrong");
  scope.count("rx_icrc_errors", icrc_errors_, "packets dropped because their ICRC was wrong");
  scope.count("rx_wrong_address", wrong_address_,
              "flooded frames dropped: they were for somebody else");
  scope.count("rx_unknown_opcodes", unknown_opcodes_,
              "packets dropped: no opcode of this transport");
  scope.count("rx_discards_phy", discards_,
              "packets of lossy priorities dropped: the receive buffer was full");
  scope.bytes("receive_buffer.occupancy.max", most_occupied_, "most bytes held at once");
  scope.count("parser.packets", parser_.entered(), "packets parsed");
  scope.time("parser.busy", parser_.busy(), "time the parser was taken");
  scope.time("parser.stalled.interval", parser_.stalled(), "packets waited for the parser");
}

}  // namespace rnicsim
