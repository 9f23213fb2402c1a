// SPDX-License-Identifier: MIT
#include "host/event_channel.h"

namespace rnicsim {

Time EventChannel::deliver(const DeviceEvent& event, CpuCore& core) {
  const Time now = core.scheduler().now();
  events_.push({event.type, event.object, now});
  Time end = now;
  if (sleepers_.has_sleeper())
    sleepers_.wake([&](Cycles cycles) {
      return end = core.occupy(now, plane_, CpuCategory::kScheduling, cycles);
    });
  return end;
}

std::optional<DeviceEvent> EventChannel::poll(CpuTask& task) {
  task.call_kernel(plane_, syscall_);
  if (events_.empty()) return std::nullopt;
  return events_.take();
}

DeviceEvent EventChannel::wait(CpuTask& task) {
  task.call_kernel(plane_, syscall_);
  while (events_.empty()) {
    sleepers_.sleep(task, plane_);
    task.settle();
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
