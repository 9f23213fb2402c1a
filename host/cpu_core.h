// SPDX-License-Identifier: MIT
// A CPU core and the programs on it. Software pays for its cycles here; hardware never runs here.
//
// CpuCore models: a frequency and one resource, taken first come first served; every stretch of
// work belongs to a plane and a category (CpuUsage); a timer tick (host/timer_tick) if asked for,
// which counts as nobody's work. Ignores: preemption within a stretch, the cost
// of switching between programs, caches, SMT, frequency changes. Sleeping costs nothing.
//
// CpuTask is one program (a SoftwareThread) on one core. Its time runs ahead of the scheduler's:
// charge() only adds cycles, and settle() lets simulated time catch up. Everything that touches
// what others can see or change (an MMIO store, reading or writing host RAM that a device shares, a
// message, a sleep) settles first, so the outside sees every act at its exact time; what lies
// between two interactions costs one thread switch however many calls it is made of. With two
// programs on one core, a stretch charged ahead is not interleaved with the other's: the other
// waits at most for the work between two interactions.
//
// Polling is computed, not executed: poll k occupies [start + k p, start + (k+1) p) and looks at
// memory at its begin, so the poll that finds an entry is the first that begins at or after the
// instant at which the entry became visible (Memory::watch). The core is busy from the first poll.
// If another program takes the core meanwhile, the grid starts again when that has ended.
//
// Metrics: stalled.other_program sums, over the programs, the time between asking for the core and
// getting it (of a poll: from the entry's visibility to the grid that starts again). occupancy.max
// counts programs that want the core at once, polling ones included, as seen when one asks.
// With ticks: stalled.tick.
#pragma once

#include <optional>
#include <vector>

#include "host/cpu_usage.h"
#include "host/memory.h"
#include "host/timer_tick.h"
#include "model/clock.h"
#include "model/scheduler.h"
#include "model/signal.h"
#include "model/software_thread.h"
#include "model/units.h"

namespace rnicsim {

class Fields;

struct CpuConfig {
  Frequency frequency = Frequency::mhz(3500);
  std::uint32_t cores = 4;
  std::uint32_t copy_bytes_per_cycle = 8;  ///< payload that a core copies itself
  std::optional<TimerTickConfig> tick;
  void describe(Fields& fields);
};

class CpuTask;

class CpuCore {
 public:
  /// `seed`: of when its ticks are.
  CpuCore(Scheduler& scheduler, const CpuConfig& config, CpuUsage& usage, std::uint64_t seed = 0)
      : scheduler_(scheduler), clock_(config.frequency), config_(config), usage_(usage) {
    if (config.tick) tick_.emplace(*config.tick, clock_, seed);
  }

  /// Takes the core for `cycles` from `earliest` or when it is free; returns the end.
  Time occupy(Time earliest, CpuPlane plane, CpuCategory category, Cycles cycles);

  const Clock& clock() const { return clock_; }
  Scheduler& scheduler() const { return scheduler_; }
  CpuUsage& usage() const { return usage_; }
  const CpuConfig& config() const { return config_; }
  /// Includes a poll in progress, up to now.
  Time busy();
  /// Of the data plane, without polling that found nothing.
  Time data_work() const { return data_work_; }
  /// Under `scope` (".cpu.core0"): busy, stalled.other_program, occupancy.max.
  void report(const MetricScope& scope);
  void signals(const SignalScope& scope);

 private:
  friend class CpuTask;
  void begin_polling(CpuPlane plane, Time at);
  void end_polling(CpuPlane plane, Time at);
  void account_polling(Time until);
  void note_wanted(const CpuTask& by, Time at);
  void note_wait(Time time) { waited_ += time; }
  Time work_end() const { return work_end_; }
  Time free_from(Time at);
  Time end_of(Time start, Time duration);

  Scheduler& scheduler_;
  Clock clock_;
  CpuConfig config_;
  CpuUsage& usage_;
  Time work_end_;   ///< of the last stretch of work taken
  Time accounted_;  ///< busy time is known up to here
  Time busy_;
  Time data_work_;
  Time worked_;         ///< both planes, without polls
  Time stretch_since_;  ///< work is taken without a gap, but for ticks, from here to work_end_
  Time stretch_work_;   ///< in it
  unsigned pollers_[kCpuPlanes] = {};
  Time spun_[kCpuPlanes] = {};  ///< polling that has been accounted
  std::vector<const CpuTask*> tasks_;
  Time waited_;
  std::optional<TimerTick> tick_;
  Time ticked_;  ///< that work and polls have waited for ticks
  std::size_t most_wanting_ = 0;
};

class CpuTask {
 public:
  CpuTask(CpuCore& core, SoftwareThread& thread);
  ~CpuTask();
  CpuTask(const CpuTask&) = delete;
  CpuTask& operator=(const CpuTask&) = delete;

  /// The program's own time: the end of what it has charged, at least the scheduler's now.
  Time now() const;
  /// Adds work without waiting for it; returns its end.
  Time charge(CpuPlane plane, CpuCategory category, Cycles cycles);
  /// Waits until simulated time has reached now().
  void settle();
  /// charge() and settle().
  void run(CpuPlane plane, CpuCategory category, Cycles cycles);
  /// A system call: run() of its cycles, and counted.
  void call_kernel(CpuPlane plane, Cycles cycles);
  /// Copies payload, counted as a copy; returns what it charged: bytes / copy_bytes_per_cycle.
  Cycles charge_copy(CpuPlane plane, Bytes bytes);

  /// The core is free meanwhile. Both settle first.
  void sleep_until(Time time);
  /// Returns after wake(); may return early, so the caller looks again.
  void block();
  void wake(Time time) { thread_.wake(time); }

  /// Polls until ready() holds, looking again whenever a device wrote the line of `address`; `poll`
  /// is the cost of one look. Returns at the begin of the poll that finds it, with the cost of that
  /// poll charged. ready() must depend on nothing but that line.
  template <class Ready>
  void poll_until(Memory& memory, PhysicalAddress address, CpuPlane plane, Cycles poll,
                  Ready&& ready) {
    settle();
    const Time first = scheduler().now();
    polling_ = true;
    core_.note_wanted(*this, first);
    core_.begin_polling(plane, first);
    while (!ready()) wait_for_write(memory, address);
    end_poll(plane, first, poll);
  }

  CpuCore& core() const { return core_; }
  SoftwareThread& thread() const { return thread_; }
  Scheduler& scheduler() const { return core_.scheduler(); }

 private:
  friend class CpuCore;
  void wait_for_write(Memory& memory, PhysicalAddress address);
  void written();
  void end_poll(CpuPlane plane, Time first, Cycles poll);

  CpuCore& core_;
  SoftwareThread& thread_;
  Time charged_until_;
  bool polling_ = false;
};

}  // namespace rnicsim
