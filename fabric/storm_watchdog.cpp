// SPDX-License-Identifier: MIT
#include "fabric/storm_watchdog.h"

#include <algorithm>

namespace rnicsim {

void StormWatchdogConfig::describe(Fields& fields) {
  fields.field("detection_time", detection_time, range(Time::us(1), Time::s(100)),
               "a priority of a port that is paused for so long without a break is in a storm");
  fields.field("restoration_time", restoration_time, range(Time::us(1), Time::s(100)),
               "the storm is over when no frame that stops has come for so long");
  fields.choice("action", action,
                {{"alert", Action::kAlert}, {"drop", Action::kDrop}, {"ignore", Action::kIgnore}},
                "alert: the run reports it, no more; drop: what goes to the port or comes from it "
                "is lost; ignore: the port sends on");
}

StormWatchdog::StormWatchdog(Scheduler& scheduler, const StormWatchdogConfig& config, Owner& owner)
    : scheduler_(scheduler), config_(config), owner_(owner) {}

void StormWatchdog::watch(PauseListener& listener) {
  if (config_.action == Action::kAlert) return;
  listener.observe(this, {0, static_cast<std::uint32_t>(ports_.size())});
  ports_.push_back({&listener});
}

void StormWatchdog::pause_changed(PauseObserver::Port at, std::uint8_t priority, bool paused) {
  if (paused && !contains(ports_[at.port].armed, priority))
    arm(static_cast<std::uint16_t>(at.port), priority, scheduler_.now() + config_.detection_time);
}

void StormWatchdog::arm(std::uint16_t port, std::uint8_t priority, Time at) {
  ports_[port].armed |= priority_bit(priority);
  scheduler_.at_daemon(
      at, call<&StormWatchdog::look>(this, std::uint64_t{port} * kPriorities + priority));
}

void StormWatchdog::look(std::uint64_t place) {
  const auto number = static_cast<std::uint16_t>(place / kPriorities);
  const auto priority = static_cast<std::uint8_t>(place % kPriorities);
  Port& port = ports_[number];
  port.armed = static_cast<PrioritySet>(port.armed & ~priority_bit(priority));
  const PauseListener& listener = *port.listener;
  const Time now = scheduler_.now();
  if (contains(port.storming, priority)) {
    const Time quiet = listener.last_stop(priority) + config_.restoration_time;
    if (quiet > now) return arm(number, priority, quiet);
    return end(number, priority);
  }
  if (!listener.is_paused(priority)) return;
  const Time due = listener.paused_since(priority) + config_.detection_time;
  if (due > now) return arm(number, priority, due);
  begin(number, priority);
}

void StormWatchdog::begin(std::uint16_t number, std::uint8_t priority) {
  Port& port = ports_[number];
  port.storming |= priority_bit(priority);
  ++port.detected;
  arm(number, priority, scheduler_.now() + config_.restoration_time);
  if (config_.action == Action::kDrop)
    owner_.drop_storm(number, priority, true);
  else
    port.listener->ignore(priority, true);
}

void StormWatchdog::end(std::uint16_t number, std::uint8_t priority) {
  Port& port = ports_[number];
  port.storming = static_cast<PrioritySet>(port.storming & ~priority_bit(priority));
  ++port.restored;
  if (config_.action == Action::kDrop)
    owner_.drop_storm(number, priority, false);
  else
    port.listener->ignore(priority, false);
}

void StormWatchdog::report_port(const MetricScope& scope, std::uint16_t number) const {
  if (number >= ports_.size()) return;
  scope.count("watchdog.storms", ports_[number].detected, "pause storms that the watchdog found");
  scope.count("watchdog.restored", ports_[number].restored, "those that have ended");
}

}  // namespace rnicsim
