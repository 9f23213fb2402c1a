// SPDX-License-Identifier: MIT
// Who runs kernel code at an instant, and pays for it: a program in a system call, or softirq on a
// core. Its time runs ahead of the scheduler's by what it has charged, as a program's does.
//
// Lives within one call: nothing waits while there is one.
#pragma once

#include <algorithm>

#include "host/cpu_core.h"

namespace rnicsim {

class KernelContext {
 public:
  explicit KernelContext(CpuTask& task) : core_(task.core()), task_(&task), now_(task.now()) {}
  explicit KernelContext(CpuCore& core) : core_(core), now_(core.scheduler().now()) {}

  /// Returns the end.
  Time charge(CpuPlane plane, CpuCategory category, Cycles cycles) {
    if (task_ != nullptr)
      now_ = task_->charge(plane, category, cycles);
    else
      now_ = core_.occupy(now_, plane, category, cycles);
    return now_;
  }
  Time now() const { return now_; }
  CpuCore& core() const { return core_; }

 private:
  CpuCore& core_;
  CpuTask* task_ = nullptr;
  Time now_;
};

}  // namespace rnicsim
