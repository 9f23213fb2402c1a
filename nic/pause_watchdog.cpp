// SPDX-License-Identifier: MIT
#include "nic/pause_watchdog.h"

#include <algorithm>

namespace rnicsim {

PauseWatchdog::PauseWatchdog(Scheduler& scheduler, const PauseWatchdogConfig& config,
                             PauseRequester& requester, MacRx& mac_rx)
    : scheduler_(scheduler), interval_(config.interval), requester_(requester), mac_rx_(mac_rx) {
  if (config.action == PauseWatchdogConfig::Action::kStopPausing) requester_.observe(this);
}

void PauseWatchdog::pause_changed(Port, std::uint8_t priority, bool paused) {
  if (!paused || armed_[priority]) return;
  armed_[priority] = true;
  scheduler_.at_daemon(scheduler_.now() + interval_, call<&PauseWatchdog::look>(this, priority));
}

void PauseWatchdog::look(std::uint64_t argument) {
  const auto priority = static_cast<std::uint8_t>(argument);
  armed_[priority] = requester_.is_xoff(priority);
  if (!armed_[priority]) return;
  const Time since = requester_.xoff_since(priority);
  if (scheduler_.now() - since < interval_) {
    scheduler_.at_daemon(since + interval_, call<&PauseWatchdog::look>(this, priority));
    return;
  }
  stopped_[priority] = {since, scheduler_.now() - since};
  ++storms_;
  mac_rx_.make_lossy(priority);
  requester_.silence(priority);
}

void PauseWatchdog::report(const MetricScope& scope) const {
  scope.count("watchdog.storms", storms_, "priorities that it has stopped from pausing the link");
}

}  // namespace rnicsim
