// SPDX-License-Identifier: MIT
#include "nic/ethernet/ethernet_unit.h"

namespace rnicsim {

namespace {
constexpr Time kQuietPoll = Time::ns(100);  // assumption: a firmware loop
constexpr std::uint8_t kMaxLogEntries = 15;
}  // namespace

EthernetUnit::EthernetUnit(const Wiring& w, const EthernetConfig& config)
    : scheduler_(w.scheduler),
      config_(config),
      ethernet_(w.port.identity().link_layer != LinkLayer::kInfiniBand),
      steering_(config),
      completions_(w.scheduler, w.clock, w.pcie, config.completion_pipeline, probe),
      transmitter_(
          {w.scheduler, w.clock, w.pcie, w.port, w.mac_tx, completions_, probe, w.mtu, w.elided},
          config),
      receiver_({w.scheduler, w.clock, w.pcie, w.mac_rx, completions_, steering_, probe, w.elided},
                config) {
  w.mac_tx.connect_frames(call<&EthernetTransmitter::packet_started>(&transmitter_));
  w.mac_rx.connect_frames(receiver_);
}

bool EthernetUnit::is_quiet(std::uint32_t queue) const {
  return transmitter_.is_quiet(queue) && receiver_.is_quiet(queue) &&
         !completions_.has_waiting(queue);
}

bool EthernetUnit::create(std::uint32_t queue, const abi::EthernetQueueContext& context) {
  using abi::EthernetDirection;
  const bool transmit = context.direction == EthernetDirection::kTransmit;
  if (!ethernet_ || queue >= config_.queues || use(queue) != Use::kNone || !is_quiet(queue) ||
      context.log_entries > kMaxLogEntries ||
      (!transmit && context.direction != EthernetDirection::kReceive))
    return false;
  if (queue >= uses_.size()) uses_.resize(queue + 1, Use::kNone);
  uses_[queue] = transmit ? Use::kTransmit : Use::kReceive;
  completions_.open(queue, context);
  if (transmit)
    transmitter_.open(queue, context);
  else
    receiver_.open(queue, context);
  return true;
}

void EthernetUnit::close(std::uint32_t queue) {
  if (use(queue) == Use::kNone) return;
  transmitter_.close(queue);
  receiver_.close(queue);
  completions_.close(queue);
  uses_[queue] = Use::kNone;
}

bool EthernetUnit::destroy(std::uint32_t queue, Callback done) {
  if (use(queue) == Use::kNone) return false;
  close(queue);
  destroyed_ = done;
  wait_until_quiet(queue);
  return true;
}

void EthernetUnit::wait_until_quiet(std::uint64_t queue) {
  if (is_quiet(static_cast<std::uint32_t>(queue)))
    destroyed_();
  else
    scheduler_.at(scheduler_.now() + kQuietPoll,
                  call<&EthernetUnit::wait_until_quiet>(this, queue));
}

void EthernetUnit::reset() {
  for (std::uint32_t queue = 0; queue < uses_.size(); ++queue) close(queue);
  steering_.reset();
}

void EthernetUnit::ring(std::uint64_t value) {
  const auto queue = static_cast<std::uint32_t>(value >> 32);
  const auto producer = static_cast<std::uint32_t>(value);
  const Use kind = use(queue);
  ++rung_;
  probe(scheduler_.now(), ProbeKind::kFramesPosted, {}, 0, queue, producer);
  const bool taken =
      kind != Use::kNone && (kind == Use::kTransmit ? transmitter_.produced(queue, producer)
                                                    : receiver_.produced(queue, producer));
  if (!taken) ++ignored_;
}

void EthernetUnit::arm(std::uint64_t value) {
  ++armed_;
  if (!completions_.arm(static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)))
    ++ignored_;
}

void EthernetUnit::report(const MetricScope& scope) const {
  scope.count("doorbells", rung_, "doorbells of plain Ethernet's queues");
  scope.count("armed", armed_, "requests for an interrupt");
  scope.count("ignored", ignored_, "of these and the doorbells, those that make no sense");
  transmitter_.report(scope);
  receiver_.report(scope);
  completions_.report(scope);
}

}  // namespace rnicsim
