// SPDX-License-Identifier: MIT
// The one scheduler of all hardware. SystemC gives structure and the kernel in which software
// threads and foreign TLM models live; hardware time passes through here: one SC_METHOD that drains
// a time wheel and, inside run_until, runs ahead of the kernel up to the least of the end of the
// run, the next resume of a software thread and the kernel's next pending activity.
//
// Order of entries is (time, rank, sequence); rank: packet arrivals by link number, then other
// hardware, then software and calls of foreign processes. It does not depend on the container or on
// run-ahead: with run-ahead off every instant is reached by the kernel first, with the same result.
//
// Rules for callbacks: schedule nothing before now(); write no sc_signal and call neither sc_stop
// nor wait. After a call that leaves our own blocks through a TLM socket, ask_kernel() (a foreign
// model schedules without telling us). Annotated TLM delays are annotation(); a kernel event is
// notified through notify().
//
// Software of an instant runs when the foreign processes of that instant have nothing left to do.
// One scheduler for a kernel: two would wait for each other's turn there.
//
// In a foreign sc_main that calls sc_start itself, run-ahead is off: the end of sc_start(t) is not
// pending activity, so only run_until knows it.
#pragma once

#include <exception>
#include <limits>
#include <systemc>

#include "model/callback.h"
#include "model/time_wheel.h"
#include "model/units.h"

namespace rnicsim {

class SoftwareThread;

/// Looks at the model between instants: never at an instant that is not over.
class TimeObserver {
 public:
  virtual ~TimeObserver() = default;
  /// Time is about to go on to `next`: what is to be seen holds until then. Returns the time after
  /// which it wants to be asked again. Must change nothing.
  virtual Time before(Time next) = 0;
};

class Scheduler : public sc_core::sc_module {
 public:
  enum class End {
    kIdle,     ///< nothing is pending but daemons
    kReached,  ///< the time given to run_until
    kStopped,  ///< stop() was called
  };

  explicit Scheduler(const sc_core::sc_module_name& name, bool run_ahead = true);

  Time now() const { return now_; }
  /// What to add to sc_time_stamp() to get now(): the delay to annotate on TLM calls.
  sc_core::sc_time annotation() const;
  /// A foreign call that arrives with annotated delay `delay` takes effect at the time returned,
  /// now() or later. Drains the hardware that is due, so that state that the call returns is that
  /// of the kernel's time, and moves now() there.
  Time enter_foreign(const sc_core::sc_time& delay);

  /// The time that an annotated delay, given now by the kernel's clock, stands for.
  Time at_delay(const sc_core::sc_time& delay) const {
    return kernel_now() + Time::ps(static_cast<std::int64_t>(delay.value()));
  }
  /// Hardware or a software thread is being run by the scheduler right now.
  bool inside() const { return draining_ || thread_runs_; }

  /// Entries. REQUIRES time >= now(); an earlier one is a broken invariant and ends the run.
  void at(Time time, const Callback& callback) { insert(time, kHardware, callback); }
  void at_arrival(Time time, std::uint32_t link, const Callback& callback) {
    insert(time, static_cast<std::uint64_t>(link & kMaxLink) << kLinkShift, callback);
  }
  /// Runs after the hardware of its instant, as a foreign process's call does.
  void at_software(Time time, const Callback& callback) { insert(time, kSoftware, callback); }
  /// Somebody waits for what a daemon entry will do (a retransmission timer that is armed): while
  /// held, daemons alone keep the run alive.
  void hold() { ++live_; }
  void release() { --live_; }
  /// A periodic timer: keeps nothing alive.
  void at_daemon(Time time, const Callback& callback) {
    insert(time, kHardware | kDaemon, callback);
  }
  /// Lets the kernel reach `time`, then the thread run until it waits again. Of several resumes of
  /// one thread only that of its present `turn` counts.
  void resume(Time time, SoftwareThread& thread, std::uint64_t turn);

  /// Hands the kernel to a software thread (SoftwareThread only): nothing more is drained until
  /// thread_waits().
  void run_thread(sc_core::sc_event& event) {
    thread_runs_ = true;
    event.notify();
  }
  /// A software thread is about to wait (or has ended): hardware goes on.
  void thread_waits();
  /// After a TLM call that left our own blocks: the kernel may have new pending activity.
  void ask_kernel();
  /// Notifies a kernel event at `time`, and runs ahead no further than that.
  void notify(sc_core::sc_event& event, Time time);

  /// Runs from the kernel's present time until stop(), nothing is left to do, or everything up to
  /// and including `end` is done. Afterwards now() and the kernel's time are equal: `end`, or
  /// that of the last entry. May be called again to go on.
  End run_until(Time end);
  void stop();
  /// Ends the run; run_until throws it again (an exception must not cross the kernel, which would
  /// turn it into a report; without run_until that is what happens).
  void fail(std::exception_ptr failure);
  /// Looked at every 4,096 entries (Ctrl-C, progress); true stops the run.
  void set_poll(bool (*poll)(void*), void* context) {
    poll_ = poll;
    poll_context_ = context;
  }
  /// Asks `observer` (one a scheduler) the first time that an entry later than `after` is about to
  /// run, and so on. It is no entry itself, so it changes neither order nor end.
  void observe(TimeObserver& observer, Time after) {
    observer_ = &observer;
    observed_after_ = after.ps();
  }

  std::uint64_t callbacks() const { return callbacks_; }

 private:
  // An entry's order, from the top: rank (2 bits), link (20), sequence (40), flags (2).
  static constexpr std::uint64_t kHardware = 1ULL << 62;
  static constexpr std::uint64_t kSoftware = 2ULL << 62;
  static constexpr unsigned kLinkShift = 42;
  static constexpr std::uint32_t kMaxLink = (1U << 20) - 1;
  static constexpr std::uint64_t kMaxSequence = (1ULL << 40) - 1;
  static constexpr std::uint64_t kDaemon = 1;
  static constexpr std::uint64_t kNeedsKernel = 2;

  /// `rank`: the entry's order but for its sequence number.
  void insert(Time time, std::uint64_t rank, const Callback& callback) {
    insert(time, rank, callback.function, callback.object, callback.argument);
  }
  /// The callback in registers: one just written to memory in two halves stalls whoever reads it
  /// in one piece.
  void insert(Time time, std::uint64_t rank, void (*function)(void*, std::uint64_t), void* object,
              std::uint64_t argument);
  void check_insert(Time time) const;
  void drain();
  bool run_next();
  void run_first(const TimeWheel::Entry& entry);
  bool software_may_run(const TimeWheel::Entry& entry) const;
  void drain_through(Time limit);
  Time limit() const;
  void arm(Time time);
  void arm_next();
  void start_kernel(Time end);
  /// The kernel stands still while a callback runs.
  Time kernel_now() const { return draining_ ? drained_at_ : read_kernel(); }
  static Time read_kernel();
  static sc_core::sc_time kernel_time(Time time);

  TimeWheel wheel_;
  sc_core::sc_event wake_;
  Time now_;
  Time end_ = Time::never();
  Time kernel_limit_;
  Time drained_at_;  ///< the kernel's time, while draining
  std::uint64_t sequence_ = 0;
  std::uint64_t live_ = 0;  ///< entries that are no daemons
  std::uint64_t callbacks_ = 0;
  bool run_ahead_;
  bool in_run_ = false;
  bool draining_ = false;
  bool thread_runs_ = false;
  bool stop_ = false;
  std::exception_ptr failure_;
  bool (*poll_)(void*) = nullptr;
  void* poll_context_ = nullptr;
  TimeObserver* observer_ = nullptr;
  std::int64_t observed_after_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace rnicsim
