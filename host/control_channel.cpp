// SPDX-License-Identifier: MIT
#include "host/control_channel.h"

#include <algorithm>
#include <utility>

#include "model/callback.h"

namespace rnicsim {

void FixedControlChannel::send(CpuTask& from, ControlMessage message) {
  from.settle();
  const Time now = scheduler_.now();
  in_flight_.push({now, std::move(message)});
  ++messages_;
  most_ = std::max(most_, in_flight_.size() + delivered_.size());
  scheduler_.at_software(now + latency_, call<&FixedControlChannel::deliver>(this));
}

void FixedControlChannel::deliver() {
  Sent sent = in_flight_.take();
  probe()(scheduler_.now(), ProbeKind::kControlMessage, {}, 0,
          static_cast<std::uint64_t>(sent.at.ps()), sent.message.size());
  delivered_.push(std::move(sent.message));
  if (receiver_ != nullptr) receiver_->wake(scheduler_.now());
}

ControlMessage FixedControlChannel::receive(CpuTask& to) {
  to.settle();
  receiver_ = &to;
  while (delivered_.empty()) to.block();
  receiver_ = nullptr;
  return delivered_.take();
}

void FixedControlChannel::report(const MetricScope& scope) const {
  scope.count("messages", messages_, "messages sent");
  scope.count("occupancy.max", most_, "most messages sent and not yet received");
}

}  // namespace rnicsim
