// SPDX-License-Identifier: MIT
#include "model/scheduler.h"

#include <utility>

#include "model/invariant.h"
#include "model/software_thread.h"

namespace rnicsim {

Scheduler::Scheduler(const sc_core::sc_module_name& name, bool run_ahead)
    : sc_core::sc_module(name), wake_("wake"), run_ahead_(run_ahead) {
  if (sc_core::sc_get_time_resolution() != sc_core::sc_time(1, sc_core::SC_PS))
    throw std::runtime_error("the SystemC time resolution must be 1 ps");
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.dont_initialize();
  options.set_sensitivity(&wake_);
  sc_core::sc_spawn([this] { drain(); }, "drain", &options);
}

Time Scheduler::read_kernel() {
  return Time::ps(static_cast<std::int64_t>(sc_core::sc_time_stamp().value()));
}

sc_core::sc_time Scheduler::kernel_time(Time time) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(time.ps()));
}

sc_core::sc_time Scheduler::annotation() const { return kernel_time(now_ - kernel_now()); }

void Scheduler::insert(Time time, std::uint64_t rank, void (*function)(void*, std::uint64_t),
                       void* object, std::uint64_t argument) {
  if (!draining_ || time < now_ || sequence_ == kMaxSequence) check_insert(time);
  wheel_.insert(time.ps(), rank | ++sequence_ << 2, function, object, argument);
  if ((rank & kDaemon) == 0) ++live_;
  if (!draining_ && !thread_runs_) arm(time);
}

void Scheduler::check_insert(Time time) const {
  // Outside a callback the kernel may be later than the last entry (see enter_foreign).
  if (time < now_ || (!draining_ && time < kernel_now()))
    throw InvariantBroken(name(), now_, "an entry in the past was scheduled");
  if (sequence_ == kMaxSequence) throw InvariantBroken(name(), now_, "too many entries");
}

void Scheduler::arm(Time time) {
  const Time kernel = kernel_now();
  wake_.notify(kernel_time(time > kernel ? time - kernel : Time()));
}

void Scheduler::arm_next() {
  const Time next = Time::ps(wheel_.next_time());
  if (next != Time::never() && !(in_run_ && next > end_)) arm(next);
}

void Scheduler::ask_kernel() {
  if (!in_run_ || !run_ahead_) return;
  const sc_core::sc_time ahead =
      sc_core::sc_time_to_pending_activity(sc_core::sc_get_curr_simcontext());
  if (ahead == sc_core::sc_max_time() - sc_core::sc_time_stamp()) {
    kernel_limit_ = Time::never();
    return;
  }
  kernel_limit_ = kernel_now() + Time::ps(static_cast<std::int64_t>(ahead.value()));
}

void Scheduler::notify(sc_core::sc_event& event, Time time) {
  event.notify(kernel_time(time - kernel_now()));
  if (time < kernel_limit_) kernel_limit_ = time;
}

Time Scheduler::limit() const {
  if (!in_run_ || !run_ahead_) return kernel_now();
  return kernel_limit_ < end_ ? kernel_limit_ : end_;
}

inline void Scheduler::run_first(const TimeWheel::Entry& entry) {
  const Callback callback = entry.callback;
  if ((entry.order & kDaemon) == 0) --live_;
  if (entry.time > observed_after_) observed_after_ = observer_->before(Time::ps(entry.time)).ps();
  now_ = Time::ps(entry.time);
  wheel_.pop();
  ++callbacks_;
  callback();
}

/// Runs the earliest entry if its turn has come; else sees to it that the kernel wakes drain()
/// then, and returns false.
inline bool Scheduler::run_next() {
  const TimeWheel::Entry* entry = wheel_.first(limit().ps());
  if (live_ == 0 && in_run_ && !sc_core::sc_pending_activity()) return false;  // daemons remain
  if (entry == nullptr || (entry->order >= kSoftware && !software_may_run(*entry))) {
    arm_next();
    return false;
  }
  run_first(*entry);
  return true;
}

void Scheduler::drain() {
  wake_.cancel();
  ask_kernel();
  drained_at_ = read_kernel();
  draining_ = true;
  try {
    while (!stop_ && !thread_runs_ && run_next()) {
      if (poll_ != nullptr && (callbacks_ & 4095) == 0 && poll_(poll_context_)) stop_ = true;
    }
  } catch (...) {
    draining_ = false;
    fail(std::current_exception());
  }
  draining_ = false;
  if (stop_ && in_run_) sc_core::sc_pause();
}

/// Software waits for the foreign processes of its instant, whose order among the kernel's
/// processes is not ours; a thread also needs the kernel to be at its time.
bool Scheduler::software_may_run(const TimeWheel::Entry& entry) const {
  const Time time = Time::ps(entry.time);
  const bool ahead = in_run_ && run_ahead_ && time < kernel_limit_;
  if (ahead && (entry.order & kNeedsKernel) == 0) return true;
  return kernel_now() >= time && !sc_core::sc_pending_activity_at_current_time();
}

void Scheduler::stop() {
  stop_ = true;
  if (!draining_) wake_.notify(sc_core::SC_ZERO_TIME);
}

void Scheduler::fail(std::exception_ptr failure) {
  if (!in_run_) std::rethrow_exception(failure);
  if (!failure_) failure_ = std::move(failure);
  stop();
}

Time Scheduler::enter_foreign(const sc_core::sc_time& delay) {
  const Time kernel = kernel_now();
  if (!draining_ && !thread_runs_) {
    drain_through(kernel);
    if (now_ < kernel) now_ = kernel;
  }
  const Time time = kernel + Time::ps(static_cast<std::int64_t>(delay.value()));
  return time < now_ ? now_ : time;
}

/// Runs the hardware that is due up to `limit` on behalf of a foreign process.
void Scheduler::drain_through(Time limit) {
  drained_at_ = read_kernel();
  draining_ = true;
  try {
    while (!stop_) {
      const TimeWheel::Entry* entry = wheel_.first(limit.ps());
      if (entry == nullptr || entry->order >= kSoftware) break;
      run_first(*entry);
    }
  } catch (...) {
    draining_ = false;
    fail(std::current_exception());
  }
  draining_ = false;
  arm_next();
}

void Scheduler::resume(Time time, SoftwareThread& thread, std::uint64_t turn) {
  insert(time, kSoftware | kNeedsKernel, call<&SoftwareThread::activate>(&thread, turn));
}

void Scheduler::thread_waits() {
  thread_runs_ = false;
  wake_.notify(sc_core::SC_ZERO_TIME);
}

Scheduler::End Scheduler::run_until(Time end) {
  if (end < kernel_now() || end < now_)
    throw InvariantBroken(name(), now_, "the run would end in the past");
  end_ = end;
  in_run_ = true;
  stop_ = false;
  kernel_limit_ = kernel_now();
  wake_.notify(sc_core::SC_ZERO_TIME);
  start_kernel(end);
  wake_.cancel();
  in_run_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  const bool idle = live_ == 0 && !sc_core::sc_pending_activity();
  if (!stop_ && !idle) now_ = end;
  // Whatever the kernel does next (another run, a foreign sc_start) begins where we stopped.
  if (kernel_now() < now_) sc_core::sc_start(kernel_time(now_ - kernel_now()));
  arm_next();
  return stop_ ? End::kStopped : idle ? End::kIdle : End::kReached;
}

/// Runs the kernel until `end`. sc_start leaves the processes of its last instant for the next
/// call; here they belong to this one.
void Scheduler::start_kernel(Time end) {
  try {
    sc_core::sc_start(kernel_time(end - kernel_now()), sc_core::SC_EXIT_ON_STARVATION);
    while (!stop_ && sc_core::sc_pending_activity_at_current_time())
      sc_core::sc_start(sc_core::SC_ZERO_TIME);
  } catch (...) {  // a foreign process's
    in_run_ = false;
    throw;
  }
}

}  // namespace rnicsim
