// SPDX-License-Identifier: MIT
// The programs of one side of a workload: threads, each on a core of its host.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/cpu_core.h"
#include "model/scheduler.h"
#include "model/software_thread.h"

namespace rnicsim {

class Programs {
 public:
  /// `name`: what the names of its threads begin with.
  Programs(Scheduler& scheduler, std::string name)
      : scheduler_(scheduler), name_(std::move(name)) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  /// Starts a program, now or when the run begins.
  void start(CpuCore& core, const std::string& role, const std::function<void(CpuTask&)>& body);
  /// How many have not ended.
  std::size_t running() const { return running_; }
  bool finished() const { return running_ == 0; }

 private:
  Scheduler& scheduler_;
  std::string name_;
  std::vector<std::unique_ptr<SoftwareThread>> threads_;
  std::size_t running_ = 0;
};

}  // namespace rnicsim
