// SPDX-License-Identifier: MIT
// Where programs sleep in the kernel until somebody wakes them, one for each event, in the order in
// which they went to sleep (exclusive waiting): sockets, listeners and event channels alike.
//
// Costs: who wakes pays for that (InterruptConfig::wake); the sleeper runs wake_up later and pays
// for the switch. Asleep it keeps the run alive, as what it waits for may come from a timer.
#pragma once

#include "host/cpu_core.h"
#include "host/interrupt_controller.h"
#include "model/ring.h"

namespace rnicsim {

class WaitQueue {
 public:
  explicit WaitQueue(const InterruptConfig& config) : config_(config) {}
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  /// Somebody sleeps and has not been woken yet.
  bool has_sleeper() const { return !sleepers_.empty(); }
  /// Returns after wake(), with the switch back charged. What was waited for may be gone, if
  /// another program was quicker.
  void sleep(CpuTask& task, CpuPlane plane) {
    Sleeper me{&task, false};
    sleepers_.push(&me);
    task.scheduler().hold();
    while (!me.woken) task.block();
    task.scheduler().release();
    task.core().usage().add_context_switch(plane);
    task.charge(plane, CpuCategory::kScheduling, config_.context_switch);
  }
  /// Wakes who has slept longest. `charge(cycles)` puts the work on whoever wakes and returns its
  /// end. REQUIRES: has_sleeper().
  template <class Charge>
  void wake(Charge charge) {
    Sleeper* const sleeper = sleepers_.take();
    sleeper->woken = true;
    sleeper->task->wake(charge(config_.wake) + config_.wake_up);
  }

 private:
  struct Sleeper {
    CpuTask* task;
    bool woken;
  };
  const InterruptConfig& config_;
  Ring<Sleeper*> sleepers_;
};

}  // namespace rnicsim
