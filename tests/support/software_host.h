// SPDX-License-Identifier: MIT
// The software side of one host around a fake NIC, for tests: memory, cores, driver, one process
// with its verbs, and programs started from a lambda. One core runs at 1 GHz, so that a cycle is a
// nanosecond.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/cpu_core.h"
#include "host/driver.h"
#include "host/frame_allocator.h"
#include "host/memory.h"
#include "host/page_table.h"
#include "host/verbs.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/software_thread.h"
#include "tests/support/fake_nic.h"
#include "tests/support/probe_recorder.h"

namespace rnicsim::test {

inline MemoryConfig memory_of(Bytes size) {
  MemoryConfig config;
  config.size = size;
  return config;
}

inline CpuConfig one_gigahertz() {
  CpuConfig config;
  config.frequency = Frequency::mhz(1000);
  return config;
}

struct SoftwareHost {
  explicit SoftwareHost(bool run_ahead = true, const DriverConfig& driver_config = {},
                        const VerbsConfig& verbs_config = {})
      : scheduler("scheduler", run_ahead),
        driver(driver_config, 3, memory, frames, nic, guard, interrupts),
        verbs(verbs_config, driver, pages, nic) {
    driver.probe().attach(&probes, 1);
    verbs.probe().attach(&probes, 2);
  }

  /// Starts a program on the core.
  void start(std::function<void(CpuTask&)> body) { start_on(core, std::move(body)); }
  void start_on(CpuCore& on, std::function<void(CpuTask&)> body) {
    const std::string name = "program" + std::to_string(threads.size());
    auto& slot = threads.emplace_back();
    slot = std::make_unique<SoftwareThread>(scheduler, name, [&slot, &on, body = std::move(body)] {
      CpuTask task(on, *slot);
      body(task);
      task.settle();
    });
  }
  /// Runs until nothing is left; true if every program came to its end.
  bool run() {
    scheduler.run_until(Time::s(10));
    for (const auto& thread : threads)
      if (!thread->finished()) return false;
    return true;
  }
  bool run(std::function<void(CpuTask&)> body) {
    start(std::move(body));
    return run();
  }

  Scheduler scheduler;
  Memory memory{memory_of(Bytes(64ULL << 30))};
  FrameAllocator frames{Bytes(64ULL << 30), 1};
  PageTable pages{memory, frames};
  CpuUsage usage;
  CpuCore core{scheduler, one_gigahertz(), usage};
  InterruptController interrupts{scheduler, {}};
  FakeNic nic{scheduler, memory, &interrupts};
  DmaGuard guard{"host"};
  ProbeRecorder probes;
  Driver driver;
  Verbs verbs;
  std::deque<std::unique_ptr<SoftwareThread>> threads;
};

}  // namespace rnicsim::test
