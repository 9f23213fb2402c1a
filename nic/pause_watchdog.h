// SPDX-License-Identifier: MIT
// Watches whether a NIC pauses its link for too long, as a microcontroller beside the receive
// pipeline does: a priority that the port has stopped for `interval` without a break is a pause
// storm. The action "stop_pausing" ends it: the port pauses that priority no more, for the rest of
// the run, and drops its packets where there is no room (Guo et al., RDMA over Commodity Ethernet
// at Scale, SIGCOMM 2016, section 4.3). "alert" only has the run say so, as every port that obeys
// a pause for so long is reported.
//
// Left out: the repair of the server, after which a real NIC pauses again.
#pragma once

#include <array>

#include "model/pause.h"
#include "model/scheduler.h"
#include "model/units.h"
#include "nic/mac_rx.h"

namespace rnicsim {

class PauseWatchdog : private PauseObserver {
 public:
  PauseWatchdog(Scheduler& scheduler, const PauseWatchdogConfig& config, PauseRequester& requester,
                MacRx& mac_rx);

  Time interval() const { return interval_; }
  /// The storm of that priority that it has ended; lasted zero: none.
  PauseSpan stopped(std::uint8_t priority) const { return stopped_[priority]; }
  void report(const MetricScope& scope) const;

 private:
  void pause_changed(Port port, std::uint8_t priority, bool paused) override;
  void look(std::uint64_t priority);

  Scheduler& scheduler_;
  Time interval_;
  PauseRequester& requester_;
  MacRx& mac_rx_;
  std::array<bool, kPriorities> armed_{};
  std::array<PauseSpan, kPriorities> stopped_{};
  std::uint64_t storms_ = 0;
};

}  // namespace rnicsim
