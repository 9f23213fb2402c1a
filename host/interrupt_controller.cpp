// SPDX-License-Identifier: MIT
#include "host/interrupt_controller.h"

#include "model/config_reader.h"

namespace rnicsim {

namespace {
constexpr std::uint32_t kFirstVector = 32;  // those below are the processor's own exceptions
}

void InterruptConfig::describe(Fields& f) {
  f.field("latency", latency, range(Time(), Time::ms(1)),
          "an interrupt message at the root complex until the core takes it");
  f.field("entry", entry, range(Cycles(0), Cycles(1000000)),
          "entering an interrupt handler and leaving it");
  f.field("wake_up", wake_up, range(Time(), Time::ms(10)),
          "a sleeping program is woken until it runs");
  f.field("wake", wake, range(Cycles(0), Cycles(1000000)), "waking a program that sleeps");
  f.field("context_switch", context_switch, range(Cycles(0), Cycles(1000000)),
          "putting a program to sleep and taking it back");
}

InterruptController::Message InterruptController::allocate(CpuCore& core, Callback handler,
                                                           InterruptOwner* owner) {
  vectors_.push_back({&core, handler, owner, false, {}, {}});
  return {PhysicalAddress(kFirstAddress),
          kFirstVector + static_cast<std::uint32_t>(vectors_.size() - 1)};
}

void InterruptController::raise(const Message& message, WorkRequestId cause) {
  ++messages_;
  const std::uint64_t index = std::uint64_t{message.data} - kFirstVector;
  if (message.address.value() != kFirstAddress || message.data < kFirstVector ||
      index >= vectors_.size()) {
    ++spurious_;
    return;
  }
  if (vectors_[index].pending) {
    ++merged_;
    return;
  }
  vectors_[index].pending = true;
  vectors_[index].arrived = scheduler_.now();
  vectors_[index].cause = cause;
  scheduler_.at_software(scheduler_.now() + config_.latency,
                         call<&InterruptController::take>(this, index));
}

void InterruptController::take(std::uint64_t index) {
  Vector& vector = vectors_[index];
  vector.pending = false;
  ++handled_;
  const CpuPlane plane =
      vector.owner != nullptr ? vector.owner->plane_of_interrupt() : CpuPlane::kData;
  const Time end =
      vector.core->occupy(scheduler_.now(), plane, CpuCategory::kInterrupt, config_.entry);
  probe_(end, ProbeKind::kInterruptTaken, vector.cause, 0,
         static_cast<std::uint64_t>(vector.arrived.ps()), kFirstVector + index);
  scheduler_.at_software(end, vector.handler);
}

void InterruptController::report(const MetricScope& scope) const {
  scope.count("messages", messages_, "interrupt messages of devices");
  scope.count("handled", handled_, "interrupts that a core took");
  scope.count("merged", merged_, "messages that came while one of their vector was pending");
  scope.count("spurious", spurious_, "messages of no vector");
}

}  // namespace rnicsim
