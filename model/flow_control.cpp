// SPDX-License-Identifier: MIT
#include "model/flow_control.h"

namespace rnicsim {

namespace {

/// InfiniBand's links have credits instead.
PauseConfig pause_of(PauseConfig pause, LinkLayer link_layer) {
  if (link_layer == LinkLayer::kInfiniBand) pause.mode = PauseMode::kNone;
  return pause;
}

}  // namespace

FlowControl::FlowControl(const Wiring& w, const PauseConfig& pause)
    : scheduler_(w.scheduler),
      pool_(w.packets),
      credit_(w.credit),
      mac_(w.mac),
      requester_(w.scheduler, pause_of(pause, w.link_layer), w.rate, w.go),
      listener_(w.scheduler, pause_of(pause, w.link_layer), w.rate, w.go) {}

PacketRef FlowControl::take_frame() {
  PacketRef packet = pool_.create();
  if (credit_ != nullptr) {
    packet->kind = FrameKind::kCredit;
    packet->link_layer = LinkLayer::kInfiniBand;
    packet->credit = credit_->take_packet();
    return packet;
  }
  packet->kind = FrameKind::kPause;
  packet->eth.destination = kMacControlAddress;
  packet->eth.source = mac_;
  packet->pause = requester_.take_frame();
  return packet;
}

void FlowControl::hold(bool waits) {
  waits_ = waits;
  if (waits)
    scheduler_.hold();
  else
    scheduler_.release();
}

void FlowControl::signals(const SignalScope& scope, PrioritySet lossless) {
  if (has_credits()) return;
  scope.total(
      "paused", Unit::kPicoseconds,
      "time in which a priority was stopped by the other end; of several the sum",
      [this](Time at) { return static_cast<std::uint64_t>(listener_.paused_time(at).ps()); });
  for_each_priority(lossless, [&](std::uint8_t priority) {
    scope.state("prio" + std::to_string(priority) + "_paused", {"no", "yes"},
                "whether the other end has stopped this priority",
                [this, priority] { return std::uint64_t{listener_.is_paused(priority)}; });
  });
}

void FlowControl::report(const MetricScope& scope) const {
  requester_.report(scope);
  listener_.report(scope);
  if (credit_ != nullptr) credit_->report(scope);
}

}  // namespace rnicsim
