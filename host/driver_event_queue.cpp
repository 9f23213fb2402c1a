// SPDX-License-Identifier: MIT
#include "host/driver_event_queue.h"

#include "model/byte_order.h"

namespace rnicsim {

Errno DriverEventQueue::open(CpuTask& task, PhysicalAddress mailbox) {
  if (is_open()) return Errno::kOk;
  commands_.lock(task);
  const Errno result = is_open() ? Errno::kOk : create(task, mailbox);
  commands_.unlock(task);
  return result;
}

Errno DriverEventQueue::create(CpuTask& task, PhysicalAddress mailbox) {
  task.run(CpuPlane::kControl, CpuCategory::kSyscall, config_.create_object);
  const Bytes bytes(std::uint64_t{abi::Eqe::kBytes} << kLogEntries);
  const auto ring = frames_.allocate_kernel(bytes);
  if (!ring) return Errno::kNoMemory;
  ring_ = *ring;
  std::uint8_t image[abi::Eqe::kBytes];
  abi::Eqe{}.write(image);
  for (std::uint64_t at = 0; at < bytes.count(); at += sizeof image)
    memory_.store(PhysicalAddress(ring_.value() + at), image, sizeof image);
  const auto message =
      interrupts_.allocate(task.core(), call<&DriverEventQueue::interrupted>(this));
  abi::EqContext context;
  context.log_size = kLogEntries;
  context.ring = ring_;
  context.msix_address = message.address;
  context.msix_data = message.data;
  context.write(image);
  memory_.store(mailbox, image, sizeof image);
  if (commands_.execute(task, abi::CommandOpcode::kCreateEq, kEqn, mailbox) !=
      abi::CommandStatus::kOk) {
    frames_.release_kernel(ring_, bytes);
    return Errno::kIo;
  }
  task.run(CpuPlane::kControl, CpuCategory::kDoorbell, config_.event_arm);
  core_ = &task.core();
  arm();
  return Errno::kOk;
}

void DriverEventQueue::unsubscribe(abi::EventType type, std::uint32_t object) {
  const auto at = channels_.find(key(type, object));
  if (at == channels_.end()) return;
  at->second->forget(type, object);
  channels_.erase(at);
}

abi::Eqe DriverEventQueue::load_entry() const {
  const std::uint64_t index = consumer_ & ((1u << kLogEntries) - 1);
  std::uint8_t image[abi::Eqe::kBytes];
  memory_.load(PhysicalAddress(ring_.value() + index * sizeof image), image, sizeof image);
  return abi::Eqe::read(image);
}

void DriverEventQueue::interrupted() {
  if (running_) return;
  running_ = true;
  handle_next();
}

/// Entries one after the other, as long as there are any.
void DriverEventQueue::handle_next() {
  Scheduler& scheduler = core_->scheduler();
  const abi::Eqe entry = load_entry();
  const bool ready = entry.type != abi::EventType::kInvalid &&
                     entry.owner == ((consumer_ >> kLogEntries & 1) != 0);
  const Time end = core_->occupy(scheduler.now(), CpuPlane::kData, CpuCategory::kInterrupt,
                                 ready ? config_.event : config_.event_arm);
  scheduler.at_software(end, ready ? call<&DriverEventQueue::entry_handled>(this)
                                   : call<&DriverEventQueue::arm>(this));
}

void DriverEventQueue::entry_handled() {
  Scheduler& scheduler = core_->scheduler();
  const abi::Eqe entry = load_entry();
  Time end = scheduler.now();
  ++consumer_;
  const auto at = channels_.find(key(entry.type, entry.object));
  if (entry.type == abi::EventType::kPageFault)
    paging_.add(entry);
  else if (at != channels_.end())
    end = at->second->deliver({entry.type, entry.object, {}}, *core_);
  if (end == scheduler.now()) return handle_next();
  scheduler.at_software(end, call<&DriverEventQueue::handle_next>(this));
}

void DriverEventQueue::arm() {
  running_ = false;
  std::uint8_t value[8];
  store_be32(value, kEqn);
  store_be32(value + 4, consumer_);
  mmio_.mmio_write(core_->scheduler().now(), abi::kEqArm, value, sizeof value);
  paging_.run(*core_);
}

}  // namespace rnicsim
