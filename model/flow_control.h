// SPDX-License-Identifier: MIT
// What a port of either end of a link says to the other so that nothing is lost, and hears from it:
// pauses on Ethernet (model/pause), credits on InfiniBand (model/credit). The same in a NIC's port
// and in a switch's: which priorities (there: virtual lanes) may not send, the frames that are to
// go before all others, and that packets which wait for the end of a pause keep the run alive.
#pragma once

#include "model/callback.h"
#include "model/credit.h"
#include "model/metrics.h"
#include "model/packet.h"
#include "model/pause.h"
#include "model/priority_arbiter.h"
#include "model/scheduler.h"
#include "model/signal.h"

namespace rnicsim {

class FlowControl {
 public:
  struct Wiring {
    Scheduler& scheduler;
    PacketPool& packets;
    BitRate rate;
    MacAddress mac;  ///< source of pause frames
    LinkLayer link_layer = LinkLayer::kRoceV2;
    CreditLink* credit = nullptr;  ///< of InfiniBand, where something is plugged in
    Callback go;                   ///< a frame is due, or what was held up may go on
  };
  FlowControl(const Wiring& wiring, const PauseConfig& pause);
  FlowControl(const FlowControl&) = delete;
  FlowControl& operator=(const FlowControl&) = delete;

  PauseRequester& requester() { return requester_; }
  PauseListener& listener() { return listener_; }
  const PauseListener& listener() const { return listener_; }

  /// By credits for lanes, not by pauses.
  bool has_credits() const { return credit_ != nullptr; }
  /// Priorities that are paused, or lanes without credit for their next packet.
  PrioritySet held_up() const {
    return credit_ == nullptr ? listener_.paused() : credit_->stalled();
  }
  /// How long the priority has been paused, or its lane without credit, since the run began.
  Time stopped(std::uint8_t priority) const {
    return credit_ == nullptr ? listener_.total_paused(priority) : credit_->total_stalled(priority);
  }
  /// Whether a packet that is ready from `ready` on may be sent as far as credits go; if not, its
  /// lane is held up until it may.
  bool admits(std::uint8_t lane, const Packet& packet, Time ready) {
    return credit_ == nullptr || credit_->offer(lane, packet.frame_bytes(), ready);
  }
  /// A packet goes on the wire.
  void sent(std::uint8_t lane, Bytes frame) {
    if (credit_ != nullptr) credit_->sent(lane, frame);
  }
  bool frame_is_due() const {
    return credit_ == nullptr ? requester_.frame_is_due() : credit_->packet_is_due();
  }
  /// REQUIRES: frame_is_due().
  PacketRef take_frame();
  /// Priorities that have packets. If all of them are paused, the end of a pause is waited for.
  void note_waiting(PrioritySet waiting) {
    const bool waits = waiting != 0 && (waiting & ~listener_.paused()) == 0;
    if (waits != waits_) hold(waits);
  }
  void report(const MetricScope& scope) const;
  /// Of the pauses that are obeyed; of `lossless` priorities also which are paused. InfiniBand's
  /// lanes have none.
  void signals(const SignalScope& scope, PrioritySet lossless);

 private:
  void hold(bool waits);

  Scheduler& scheduler_;
  PacketPool& pool_;
  CreditLink* credit_;
  MacAddress mac_;
  bool waits_ = false;
  PauseRequester requester_;
  PauseListener listener_;
};

}  // namespace rnicsim
