// SPDX-License-Identifier: MIT
#include "host/command_channel.h"

#include "model/byte_order.h"

namespace rnicsim {

void CommandChannel::open(CpuTask& task, PhysicalAddress entry) {
  entry_ = entry;
  std::uint8_t address[8];
  store_be64(address, entry.value());
  task.run(CpuPlane::kControl, CpuCategory::kDoorbell, config_.command);
  mmio_.mmio_write(task.now(), abi::kCommandQueueAddress, address, sizeof address);
}

void CommandChannel::lock(CpuTask& task) {
  task.settle();
  if (holder_ != nullptr && holder_ != &task) {
    waiting_.push(&task);
    while (holder_ != &task) task.block();
  }
  holder_ = &task;
  ++depth_;
}

void CommandChannel::unlock(CpuTask& task) {
  if (--depth_ != 0) return;
  task.settle();
  holder_ = waiting_.empty() ? nullptr : waiting_.take();
  if (holder_ != nullptr) holder_->wake(task.now());
}

abi::CommandStatus CommandChannel::execute(CpuTask& task, abi::CommandOpcode opcode,
                                           std::uint32_t object, PhysicalAddress mailbox,
                                           std::uint8_t modifier) {
  lock(task);
  task.run(CpuPlane::kControl, CpuCategory::kDoorbell, config_.command);
  std::uint8_t image[abi::CommandEntry::kBytes];
  abi::CommandEntry entry;
  entry.opcode = opcode;
  entry.modifier = modifier;
  entry.object = object;
  entry.mailbox = mailbox;
  entry.hardware_owned = true;
  entry.write(image);
  memory_.store(entry_, image, sizeof image);
  std::uint8_t ring[4];
  store_be32(ring, 1);
  mmio_.mmio_write(task.now(), abi::kCommandDoorbell, ring, sizeof ring);

  const PhysicalAddress owner(entry_.value() + abi::CommandEntry::kOwnerOffset);
  task.poll_until(memory_, owner, CpuPlane::kControl, config_.command_poll, [&] {
    std::uint8_t byte = 0;
    memory_.load(owner, &byte, 1);
    return byte == 0;
  });
  memory_.load(entry_, image, sizeof image);
  ++executed_;
  const abi::CommandStatus status = abi::CommandEntry::read(image).status;
  unlock(task);
  return status;
}

}  // namespace rnicsim
