// SPDX-License-Identifier: MIT
#include "host/event_channel.h"

namespace rnicsim {

void EventChannel::deliver(const DeviceEvent& event, Time now) {
  events_.push({event.type, event.object, now});
  if (sleepers_.empty()) return;
  Sleeper* sleeper = sleepers_.take();
  sleeper->woken = true;
  sleeper->task->wake(now + config_.wake_up);
}

std::optional<DeviceEvent> EventChannel::poll(CpuTask& task) {
  task.core().usage().add_system_call(plane_);
  task.run(plane_, CpuCategory::kSyscall, syscall_);
  if (events_.empty()) return std::nullopt;
  return events_.take();
}

DeviceEvent EventChannel::wait(CpuTask& task) {
  task.core().usage().add_system_call(plane_);
  task.run(plane_, CpuCategory::kSyscall, syscall_);
  Scheduler& scheduler = task.core().scheduler();
  while (events_.empty()) {
    Sleeper sleeper{&task, false};
    sleepers_.push(&sleeper);
    scheduler.hold();
    while (!sleeper.woken) task.block();
    scheduler.release();
    task.core().usage().add_context_switch(plane_);
    task.run(plane_, CpuCategory::kSyscall, config_.context_switch);
  }
  return events_.take();
}

void EventChannel::forget(abi::EventType type, std::uint32_t object) {
  for (std::size_t left = events_.size(); left != 0; --left) {
    const DeviceEvent event = events_.take();
    if (event.type != type || event.object != object) events_.push(event);
  }
}

}  // namespace rnicsim
