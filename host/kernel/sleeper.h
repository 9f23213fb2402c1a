// SPDX-License-Identifier: MIT
// Where one program sleeps in the kernel until softirq wakes it: what waking and coming back cost.
// Asleep it keeps the run alive, as what it waits for may come from a timer.
#pragma once

#include "host/cpu_core.h"
#include "host/interrupt_controller.h"
#include "host/kernel/kernel_config.h"
#include "host/kernel/kernel_context.h"

namespace rnicsim {

class Sleeper {
 public:
  bool is_asleep() const { return task_ != nullptr && !woken_; }
  /// Returns after wake(), with the switch back charged.
  void sleep(CpuTask& task, CpuPlane plane, const InterruptConfig& config) {
    task_ = &task;
    woken_ = false;
    task.scheduler().hold();
    while (!woken_) task.block();
    task.scheduler().release();
    task_ = nullptr;
    task.core().usage().add_context_switch(plane);
    task.charge(plane, CpuCategory::kScheduling, config.context_switch);
  }
  void wake(KernelContext& context, CpuPlane plane, const KernelConfig& config,
            const InterruptConfig& interrupts) {
    if (!is_asleep()) return;
    woken_ = true;
    const Time end = context.charge(plane, CpuCategory::kScheduling, config.wake);
    task_->wake(end + interrupts.wake_up);
  }

 private:
  CpuTask* task_ = nullptr;
  bool woken_ = false;
};

}  // namespace rnicsim
