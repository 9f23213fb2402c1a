// SPDX-License-Identifier: MIT
#include "scenarios/engine/programs.h"

namespace rnicsim {

void Programs::start(CpuCore& core, const std::string& role,
                     const std::function<void(CpuTask&)>& body) {
  const std::size_t number = threads_.size();
  threads_.emplace_back();
  ++running_;
  threads_[number] =
      std::make_unique<SoftwareThread>(scheduler_, name_ + "_" + role, [this, number, &core, body] {
        CpuTask task(core, *threads_[number]);
        body(task);
        task.settle();
        --running_;
      });
}

}  // namespace rnicsim
