// SPDX-License-Identifier: MIT
// What one program waits for until another has come so far, where a person would see to the order:
// a client is started when its server listens. Costs neither time nor cycles.
#pragma once

#include <algorithm>
#include <vector>

#include "host/cpu_core.h"

namespace rnicsim {

class Gate {
 public:
  /// For ever, at the time of `by`.
  void open(CpuTask& by) {
    by.settle();
    open_ = true;
    for (CpuTask* task : waiting_) task->wake(by.scheduler().now());
  }
  /// Returns when it is open.
  void pass(CpuTask& task) {
    if (open_) return;
    waiting_.push_back(&task);
    while (!open_) task.block();
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &task));
  }

 private:
  bool open_ = false;
  std::vector<CpuTask*> waiting_;
};

}  // namespace rnicsim
