// SPDX-License-Identifier: MIT
#include "model/software_thread.h"

#include <sanitizer/asan_interface.h>

namespace rnicsim {

namespace {

// Twice SystemC's default: the bodies are shallow, but sanitizers widen every frame.
constexpr int kStackBytes = 256 * 1024;

/// The address sanitizer does not know of the kernel's coroutine stacks: what it marked in the
/// frames that an exception has left would stay, for others to trip over. Without it nothing is
/// done.
void clear_marks_below(const char* frame) {
  ASAN_UNPOISON_MEMORY_REGION(frame - kStackBytes, kStackBytes);
}

}  // namespace

SoftwareThread::SoftwareThread(Scheduler& scheduler, const std::string& name,
                               std::function<void()> body)
    : scheduler_(scheduler), name_(name), body_(std::move(body)), event_((name + "_run").c_str()) {
  sc_core::sc_spawn_options options;
  options.set_stack_size(kStackBytes);
  options.dont_initialize();
  options.set_sensitivity(&event_);
  sc_core::sc_spawn(
      [this] {
        const char frame = 0;
        try {
          body_();
        } catch (const sc_core::sc_unwind_exception&) {
          clear_marks_below(&frame);
          throw;
        } catch (...) {
          clear_marks_below(&frame);
          scheduler_.fail(std::current_exception());
        }
        finished_ = true;
        scheduler_.thread_waits();
      },
      name.c_str(), &options);
  resume_at(scheduler_.now());
}

void SoftwareThread::activate(std::uint64_t turn) {
  if (turn == turn_) scheduler_.run_thread(event_);
}

void SoftwareThread::resume_at(Time time) { scheduler_.resume(time, *this, ++turn_); }

void SoftwareThread::yield() {
  scheduler_.thread_waits();
  sc_core::wait(event_);
}

void SoftwareThread::sleep_until(Time time) {
  if (time <= scheduler_.now()) return;
  resume_at(time);
  yield();
}

void SoftwareThread::block() {
  blocked_ = true;
  if (wake_due_ && wake_time_ > scheduler_.now()) resume_at(wake_time_);
  if (!wake_due_ || wake_time_ > scheduler_.now()) yield();
  blocked_ = false;
  wake_due_ = false;
}

void SoftwareThread::wake(Time time) {
  if (wake_due_ && wake_time_ <= time) return;
  wake_due_ = true;
  wake_time_ = time;
  if (blocked_) resume_at(time);
}

}  // namespace rnicsim
