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
  wait_until_quiet(std::uint64_t{queue} << 32 | (queue + 1));
  return true;
}

/// Of the queues from a first one to before a last.
void EthernetUnit::wait_until_quiet(std::uint64_t first_and_last) {
  for (auto queue = static_cast<std::uint32_t>(first_and_last >> 32);
       queue != static_cast<std::uint32_t>(first_and_last); ++queue) {
    if (is_quiet(queue)) continue;
    scheduler_.at(scheduler_.now() + kQuietPoll,
                  call<&EthernetUnit::wait_until_quiet>(this, first_and_last));
    return;
  }
  destroyed_();
}

bool EthernetUnit::set_rule(std::uint32_t number, const abi::EthernetFlowRule& rule) {
  const bool set = steering_.set_rule(number, rule);
  if (set) receiver_.steering_changed();
  return set;
}

bool EthernetUnit::clear_rule(std::uint32_t number) {
  const bool cleared = steering_.clear_rule(number);
  if (cleared) receiver_.steering_changed();
  return cleared;
}

void EthernetUnit::reset(Callback done) {
  for (std::uint32_t queue = 0; queue < uses_.size(); ++queue) close(queue);
  steering_.reset();
  destroyed_ = done;
  wait_until_quiet(uses_.size());
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
