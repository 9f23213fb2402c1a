// SPDX-License-Identifier: MIT
#include "host/shared_receives.h"

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr CpuPlane kPlane = CpuPlane::kControl;
constexpr Bytes kDoorbellRecordBytes(64);  // a cache line of its own
constexpr std::uint64_t kLimitOffset = 28;

}  // namespace

Result<SrqRings> SharedReceives::create(CpuTask& task, PdNumber pd, std::uint8_t log_entries,
                                        std::uint8_t log_segments) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  if (log_entries > UserReceiveQueue::kMaxLogEntries ||
      log_segments > UserReceiveQueue::kMaxLogSegments)
    return Errno::kInvalid;
  ReceiveMapping receive{{}, {}, log_entries, log_segments};
  const auto ring = frames_.allocate_kernel(receive.bytes());
  const auto record = frames_.allocate_kernel(kDoorbellRecordBytes);
  const auto number = ring && record ? queues_.take(config_.log_srqs) : std::nullopt;
  if (!number) {
    if (ring) frames_.release_kernel(*ring, receive.bytes());
    if (record) frames_.release_kernel(*record, kDoorbellRecordBytes);
    return Errno::kNoMemory;
  }
  receive.ring = *ring;
  receive.doorbell_record = *record;
  const std::uint8_t zero[abi::DoorbellRecord::kBytes] = {};
  memory_.store(*record, zero, sizeof zero);
  abi::SrqContext context;
  context.valid = true;
  context.log_entries = log_entries;
  context.log_segments = log_segments;
  context.pd = pd;
  context.ring = *ring;
  context.doorbell_record = *record;
  write_context(*number, context);
  queues_.put(*number, {receive, 0});
  if (commands_.execute(task, abi::CommandOpcode::kCreateSrq, *number) == abi::CommandStatus::kOk)
    return SrqRings{*number, receive};
  write_context(*number, {});
  free(*number, receive);
  return Errno::kIo;
}

Errno SharedReceives::destroy(CpuTask& task, std::uint32_t srqn) {
  task.call_kernel(kPlane, config_.syscall + config_.create_object);
  const Queue* queue = queues_.find(srqn);
  if (queue == nullptr) return Errno::kInvalid;
  if (queue->users != 0) return Errno::kBusy;
  // Invalid in RAM before the NIC forgets it, as for a key.
  write_context(srqn, {});
  if (commands_.execute(task, abi::CommandOpcode::kDestroySrq, srqn) != abi::CommandStatus::kOk)
    return Errno::kIo;
  const ReceiveMapping receive = queue->receive;
  free(srqn, receive);
  return Errno::kOk;
}

Errno SharedReceives::arm(CpuTask& task, std::uint32_t srqn, std::uint32_t limit) {
  task.call_kernel(kPlane, config_.syscall);
  const Queue* queue = queues_.find(srqn);
  if (queue == nullptr || limit > 1u << queue->receive.log_entries) return Errno::kInvalid;
  // The limit alone: what the NIC counts in the context is the NIC's.
  std::uint8_t image[2];
  store_be16(image, static_cast<std::uint16_t>(limit));
  memory_.store(PhysicalAddress(context_address(srqn).value() + kLimitOffset), image, sizeof image);
  return commands_.execute(task, abi::CommandOpcode::kArmSrq, srqn) == abi::CommandStatus::kOk
             ? Errno::kOk
             : Errno::kIo;
}

void SharedReceives::write_context(std::uint32_t srqn, const abi::SrqContext& context) {
  std::uint8_t image[abi::SrqContext::kBytes];
  context.write(image);
  memory_.store(context_address(srqn), image, sizeof image);
}

void SharedReceives::free(std::uint32_t srqn, const ReceiveMapping& receive) {
  frames_.release_kernel(receive.ring, receive.bytes());
  frames_.release_kernel(receive.doorbell_record, kDoorbellRecordBytes);
  queues_.give(srqn);
}

}  // namespace rnicsim
