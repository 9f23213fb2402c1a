// SPDX-License-Identifier: MIT
// A timer that is moved more often than it runs out: moving it later costs nothing, since its entry
// in the scheduler looks at the deadline when it comes. While it runs it keeps the run alive,
// unless somebody only remembers (TIME-WAIT).
//
// Must outlive its entries, so as long as the scheduler is run.
#pragma once

#include <cstdint>

#include "model/callback.h"
#include "model/scheduler.h"

namespace rnicsim {

class TcpTimer {
 public:
  enum class Keeps : std::uint8_t { kRunAlive, kNothing };
  TcpTimer(Scheduler& scheduler, const Callback& expired, Keeps keeps = Keeps::kRunAlive)
      : scheduler_(scheduler), expired_(expired), holds_(keeps == Keeps::kRunAlive) {}
  TcpTimer(const TcpTimer&) = delete;
  TcpTimer& operator=(const TcpTimer&) = delete;

  bool is_running() const { return deadline_ != Time::never(); }
  Time deadline() const { return deadline_; }
  /// Runs out `delay` from now; starts or moves it.
  void start(Time delay) {
    if (!is_running() && holds_) scheduler_.hold();
    deadline_ = scheduler_.now() + delay;
    if (entry_ > deadline_) arm();
  }
  void stop() {
    if (!is_running()) return;
    deadline_ = Time::never();
    if (holds_) scheduler_.release();
  }

 private:
  void arm() {
    entry_ = deadline_;
    scheduler_.at_daemon(entry_, call<&TcpTimer::wake>(this, ++entries_));
  }
  /// Only the last entry counts: an earlier one stood for a later deadline.
  void wake(std::uint64_t entry) {
    if (entry != entries_) return;
    entry_ = Time::never();
    if (!is_running()) return;
    if (scheduler_.now() < deadline_) return arm();
    stop();
    expired_();
  }

  Scheduler& scheduler_;
  Callback expired_;
  bool holds_;
  Time deadline_ = Time::never();
  Time entry_ = Time::never();  ///< when the last entry comes
  std::uint64_t entries_ = 0;
};

}  // namespace rnicsim
