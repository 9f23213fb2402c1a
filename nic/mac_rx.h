// SPDX-License-Identifier: MIT
// The receive side of the port, Ethernet's or InfiniBand's: receive buffer, FCS and ICRC check,
// parser. A packet takes its frame's bytes of the buffer from its last bit until the responder has
// handed its payload to PCIe (or the packet needed none), or the completer is done with it.
//
// Flow control: when all but the headroom of the lossless priorities is taken, the priority of a
// packet that comes is paused; when a frame's length below that is free again, or the lossless ones
// hold nothing, all go on. So a slow host, PCIe or translation becomes a pause on the wire. A
// packet of a lossy priority is dropped when it would take from the headroom, or the lossy ones
// more than `lossy_buffer`, so that they never fill what lossless ones need; a lossless one that
// finds no room at all ends the run as a lossless drop. On InfiniBand's links every virtual lane
// has its share of the buffer, for which the sender needs credit (model/credit); nothing is dropped
// and nothing paused.
//
// With `cut_through` a packet whose payload goes to memory is taken when its first 64 B have come:
// parsed, judged and translated while the rest arrives; its DMA begins when PCIe cannot overtake
// the wire (dma_engine), and whatever needs the whole packet (its answer, what moves nothing)
// happens after its last bit. Plain frames are taken whole. One that the checks will drop is known
// at once here: nothing of it is written, where a real NIC would have begun to. Approximates: room
// is taken for the whole frame at its beginning, and a congestion mark counts from there on.
//
// A frame that a switch flooded is dropped unless it is for this port; others are never delivered
// to a wrong one.
//
// Congestion notifications go to congestion_unit and take no buffer. Responses go to the completer,
// everything else that RC says, or that another transport has, to the responder, plain frames (TCP)
// to the Ethernet side, all with the time at which the parser is done with them.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "model/metrics.h"
#include "model/packet.h"
#include "model/packet_tap.h"
#include "model/pipeline.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "nic/mac_tx.h"
#include "nic/port_config.h"

namespace rnicsim {

struct MacRxConfig {
  Bytes receive_buffer{1024 * 1024};
  PipelineConfig parser{Cycles(8), Cycles(2)};
  bool cut_through = false;
  std::optional<Bytes> lossy_buffer{};
  void describe(Fields& fields);
};

/// Takes parsed packets. `ready`: when the parser is done (>= now).
class ParsedPacketSink {
 public:
  virtual ~ParsedPacketSink() = default;
  virtual void receive(PacketRef packet, Time ready) = 0;
};

class MacRx : public PacketSink {
 public:
  struct Wiring {
    Scheduler& scheduler;
    const Clock& clock;
    MacTx& mac_tx;  ///< the same port's other side
    HeadroomDemand cable;
    std::string name;
  };
  /// Throws ConfigError if the buffer has no room but headroom, or not what lossy priorities get.
  MacRx(const Wiring& wiring, const MacRxConfig& config, const PortConfig& port);

  void connect(ParsedPacketSink& responder, ParsedPacketSink& completer,
               ParsedPacketSink& notifications) {
    responder_ = &responder;
    completer_ = &completer;
    notifications_ = &notifications;
  }
  /// Who takes plain frames; until then they are dropped. Of theirs the FCS alone is checked here.
  void connect_frames(ParsedPacketSink& frames) { frames_ = &frames; }
  void receive(PacketRef packet) override;
  bool wants_cut_through() const override { return config_.cut_through; }
  /// Nobody needs the buffer of a packet any longer.
  void release(const Packet& packet) {
    const Bytes frame = packet.frame_bytes();
    occupied_ -= frame;
    if (credit_ != nullptr) return credit_->give_back(packet.lrh.virtual_lane, frame);
    const std::uint8_t priority = mac_tx_.priority_of(packet);
    held_[priority] -= frame;
    if (!contains(lossless_, priority)) lossy_ -= frame;
    if ((occupied_ <= xon_ || occupied_ == lossy_) && mac_tx_.pause_requester().any_xoff()) go_on();
  }
  /// From now on its packets are dropped where there is no room, and nobody is paused for them.
  void make_lossy(std::uint8_t priority) {
    if (contains(lossless_, priority)) lossy_ += held_[priority];
    lossless_ = static_cast<PrioritySet>(lossless_ & ~priority_bit(priority));
  }
  /// What packets of lossy priorities may take of the buffer.
  Bytes lossy_room() const { return lossless_ == 0 ? xoff_ : lossy_room_; }
  Bytes occupied() const { return occupied_; }
  /// What a packet takes of the buffer, or of its virtual lane's.
  Bytes room_of(const Packet& packet) const {
    return credit_ == nullptr ? packet.frame_bytes() : credit_->room_of(packet.frame_bytes());
  }
  /// What may stay in the buffer without holding up what comes.
  Bytes spare_room() const {
    return credit_ == nullptr ? config_.receive_buffer : credit_->spare_room();
  }
  std::uint64_t received() const { return packets_; }
  std::uint64_t received_bytes() const { return bytes_.count(); }

  Probe probe;
  PacketTapPoint tap;
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

 private:
  void receive_whole();
  void receive_control(const Packet& packet);
  void refuse(const Packet& packet, std::uint64_t& counter);
  void notify(PacketRef packet);
  void take_frame(PacketRef packet, Bytes frame);
  bool take_room(const Packet& packet, Bytes frame);
  void go_on();
  [[noreturn]] void overflow(Bytes wanted) const;

  Scheduler& scheduler_;
  MacRxConfig config_;
  MacTx& mac_tx_;
  CreditLink* credit_;  ///< null on Ethernet
  PrioritySet lossless_;
  Bytes xoff_;  ///< what may be taken before lossless priorities are paused
  Bytes xon_;
  Bytes lossy_room_;  ///< of xoff_, for lossy priorities beside lossless ones
  Pipeline parser_;
  std::string name_;
  PacketRef arriving_;  ///< has to be whole before it is taken
  ParsedPacketSink* responder_ = nullptr;
  ParsedPacketSink* completer_ = nullptr;
  ParsedPacketSink* notifications_ = nullptr;
  ParsedPacketSink* frames_ = nullptr;
  Bytes occupied_;
  std::array<Bytes, kPriorities> held_{};  ///< of it, on Ethernet
  Bytes lossy_;                            ///< of it, by lossy priorities
  Bytes most_occupied_;
  std::uint64_t packets_ = 0;
  Bytes bytes_;
  std::uint64_t crc_errors_ = 0;
  std::uint64_t icrc_errors_ = 0;
  std::uint64_t unknown_opcodes_ = 0;
  std::uint64_t discards_ = 0;
  std::uint64_t wrong_address_ = 0;
};

}  // namespace rnicsim
