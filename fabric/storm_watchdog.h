// SPDX-License-Identifier: MIT
// The watchdog of a switch against pause storms, as SONiC's pfcwd: a priority of a port that the
// other end has paused for `detection_time` without a break is in a storm, until no frame that
// stops it has come for `restoration_time`. What happens in between, by name:
//
// - alert: nothing. The run reports it, as it does every port that is paused for so long.
// - drop: what waits for the port in that priority is dropped, and so is what comes for it or, in
//   that priority, from it. The switch itself does that, told through Owner.
// - ignore: the port sends on, whatever the other end asks for.
//
// Approximates: it looks at the instant when the time is over, where a real one polls; and at
// pauses alone, where pfcwd wants a queue that does not drain too.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pause.h"
#include "model/priority_arbiter.h"
#include "model/scheduler.h"
#include "model/units.h"

namespace rnicsim {

struct StormWatchdogConfig {
  enum class Action : std::uint8_t { kAlert, kDrop, kIgnore };
  Time detection_time = Time::ms(200);
  Time restoration_time = Time::ms(200);
  Action action = Action::kAlert;
  void describe(Fields& fields);
};

class StormWatchdog : private PauseObserver {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Packets of that priority to or from that port are to be dropped, or no longer.
    virtual void drop_storm(std::uint16_t port, std::uint8_t priority, bool begins) = 0;
  };
  StormWatchdog(Scheduler& scheduler, const StormWatchdogConfig& config, Owner& owner);

  /// Watches the next port. Costs nothing if nothing is to be done about storms.
  void watch(PauseListener& listener);
  Time detection_time() const { return config_.detection_time; }
  void report_port(const MetricScope& scope, std::uint16_t port) const;

 private:
  using Action = StormWatchdogConfig::Action;
  struct Port {
    PauseListener* listener;
    PrioritySet armed = 0;
    PrioritySet storming = 0;
    std::uint64_t detected = 0;
    std::uint64_t restored = 0;
  };
  void pause_changed(PauseObserver::Port at, std::uint8_t priority, bool paused) override;
  void arm(std::uint16_t port, std::uint8_t priority, Time at);
  void look(std::uint64_t place);
  void begin(std::uint16_t port, std::uint8_t priority);
  void end(std::uint16_t port, std::uint8_t priority);

  Scheduler& scheduler_;
  StormWatchdogConfig config_;
  Owner& owner_;
  std::vector<Port> ports_;
};

}  // namespace rnicsim
