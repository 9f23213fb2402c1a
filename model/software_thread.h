// SPDX-License-Identifier: MIT
// A program: straight-line code in an SC_THREAD, the only place where one is used. It never calls
// wait(t), because the kernel's own order of threads due at one instant is not stable; it sleeps
// through the scheduler, which lets the kernel reach the time, runs this one thread and goes on
// only when it waits again.
#pragma once

#include <functional>
#include <string>

#include "model/scheduler.h"

namespace rnicsim {

class SoftwareThread {
 public:
  /// Starts `body` at time zero of the run (or at now(), if it has begun).
  SoftwareThread(Scheduler& scheduler, const std::string& name, std::function<void()> body);
  SoftwareThread(const SoftwareThread&) = delete;
  SoftwareThread& operator=(const SoftwareThread&) = delete;

  /// From inside the thread: returns when now() == time.
  void sleep_until(Time time);
  /// From inside the thread: returns after wake(); at once if a wake-up is already due.
  void block();
  /// From anywhere: ends block() at `time`. Of several wake-ups before the thread ran the earliest
  /// counts, for all of them.
  void wake(Time time);

  bool finished() const { return finished_; }
  bool blocked() const { return blocked_; }
  const std::string& name() const { return name_; }

 private:
  friend class Scheduler;
  void activate(std::uint64_t turn);
  void resume_at(Time time);
  void yield();

  Scheduler& scheduler_;
  std::string name_;
  std::function<void()> body_;
  sc_core::sc_event event_;
  Time wake_time_;
  std::uint64_t turn_ = 0;  ///< number of the latest resume; earlier ones no longer count
  bool blocked_ = false;
  bool wake_due_ = false;
  bool finished_ = false;
};

}  // namespace rnicsim
