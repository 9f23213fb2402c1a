// SPDX-License-Identifier: MIT
// What a run is doing while it runs, for `rnicsim run --watch`: throughput, queues and pauses of
// its ports since the last look. When looks are taken is the viewer's business (the wall clock's),
// so nothing of it may enter a result.
#pragma once

#include <string>
#include <vector>

#include "model/signal.h"
#include "model/units.h"

namespace rnicsim {

struct LiveLook {
  struct Port {
    std::string path;  ///< "host.A.nic0.port", "fabric.leaf0.port3"
    double rate = 0;   ///< sent, bit/s
    double limit = 0;  ///< of the wire, bit/s
    double paused =
        0;  ///< share of the time in which it was stopped; of several priorities the sum
    std::uint64_t queued = 0;   ///< waits to leave now: packets of a NIC, bytes of a switch
    bool queued_bytes = false;  ///< which
  };
  Time now;
  Time since;  ///< of the look before
  std::vector<Port> ports;
  bool last = false;  ///< the run has ended; without ports if nothing happened since the one before
};

std::string live_look_to_text(const LiveLook& look);
LiveLook live_look_from_text(const std::string& text);

/// Takes looks at the ports among `signals`, which must stay readable.
class LiveView {
 public:
  explicit LiveView(const Signals& signals);
  /// REQUIRES: `now` is the scheduler's, later than at the look before.
  LiveLook look(Time now);

 private:
  struct Port {
    std::string path;
    const Signal* sent = nullptr;
    const Signal* paused = nullptr;
    const Signal* queued = nullptr;
    std::uint64_t sent_before = 0;
    std::uint64_t paused_before = 0;
  };
  Signals signals_;
  std::vector<Port> ports_;
  Time before_;
};

}  // namespace rnicsim
