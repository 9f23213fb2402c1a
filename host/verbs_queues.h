// SPDX-License-Identifier: MIT
// The verbs library's own side of its objects: queue pair, send queue, completion queue (indices;
// the entries are in host RAM; receives: host/user_receive_queue).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/driver.h"
#include "host/event_channel.h"
#include "host/user_receive_queue.h"
#include "host/work_requests.h"
#include "host/wqe_builder.h"
#include "model/nic_abi.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

class SharedReceiveQueue {
 public:
  explicit SharedReceiveQueue(const SrqRings& rings)
      : srqn_(rings.srqn), receives_(rings.receive) {}
  std::uint32_t srqn() const { return srqn_; }
  UserReceiveQueue& receives() { return receives_; }

 private:
  std::uint32_t srqn_;
  UserReceiveQueue receives_;
};

struct QueuePairInit {
  PdNumber pd;
  class CompletionQueue* send_cq = nullptr;
  class CompletionQueue* receive_cq = nullptr;
  Transport transport = Transport::kRc;
  std::uint32_t max_send_requests = 128;  ///< of up to 64 B each; longer ones take more room
  std::uint32_t max_inline = 220;
  std::uint32_t max_recv_requests = 0;  ///< 0: no receive queue of its own
  std::uint32_t max_recv_segments = 1;  ///< pieces of one receive's buffer
  /// Messages of up to 32 B stand in their completion, from where the library copies them.
  bool inline_receive = false;
  SharedReceiveQueue* srq = nullptr;  ///< instead of a receive queue of its own
};

/// Wakes a program that sleeps until one of the channel's completion queues has something.
class CompletionChannel {
 public:
  CompletionChannel(const InterruptConfig& config, Cycles syscall)
      : events_(config, syscall, CpuPlane::kData) {}
  EventChannel& events() { return events_; }
  std::uint32_t users() const { return users_; }
  void hold() { ++users_; }
  void release() { --users_; }

 private:
  EventChannel events_;
  std::uint32_t users_ = 0;  ///< completion queues
};

class CompletionQueue {
 public:
  CompletionQueue(const CqRings& rings, CompletionChannel* channel)
      : rings_(rings), channel_(channel) {}
  CompletionChannel* channel() const { return channel_; }
  /// Events that a program got and has not acknowledged.
  std::uint32_t unacknowledged() const { return unacknowledged_; }
  void got_event() { ++unacknowledged_; }
  void acknowledge(std::uint32_t count) { unacknowledged_ -= count; }
  Cqn cqn() const { return rings_.cqn; }
  std::uint32_t entries() const { return 1u << rings_.log_size; }
  std::uint32_t consumer() const { return consumer_; }

  /// Where the next entry will appear, and the sense of its owner bit.
  PhysicalAddress next_entry() const {
    const std::uint32_t index = consumer_ & (entries() - 1);
    return PhysicalAddress(rings_.ring.value() + std::uint64_t{index} * abi::Cqe::kBytes);
  }
  bool next_owner() const { return (consumer_ >> rings_.log_size & 1) != 0; }
  PhysicalAddress doorbell_record() const { return rings_.doorbell_record; }
  void advance() { ++consumer_; }

 private:
  CqRings rings_;
  CompletionChannel* channel_;
  std::uint32_t consumer_ = 0;
  std::uint32_t unacknowledged_ = 0;
};

class QueuePair {
 public:
  QueuePair(const QpRings& rings, const QueuePairInit& init)
      : rings_(rings),
        transport_(init.transport),
        max_inline_(init.max_inline),
        srq_(init.srq),
        slots_(std::size_t{1} << rings.log_send_blocks) {
    if (rings.receive) receives_.emplace(*rings.receive);
  }
  Qpn qpn() const { return rings_.qpn; }
  /// Its own receive queue; null if it has none.
  UserReceiveQueue* own_receives() { return receives_ ? &*receives_ : nullptr; }
  /// Where its receives come from; null if it can receive nothing.
  UserReceiveQueue* receives() { return srq_ != nullptr ? &srq_->receives() : own_receives(); }
  std::uint32_t blocks() const { return 1u << rings_.log_send_blocks; }
  std::uint32_t free_blocks() const {
    return blocks() - static_cast<std::uint16_t>(producer_ - consumer_);
  }
  std::uint16_t producer() const { return producer_; }
  SendQueueTraits send_traits() const { return {qpn(), transport_, max_inline_, producer_}; }
  /// The library has seen that it is in error: receives need a doorbell to be flushed.
  bool failed() const { return failed_; }
  void set_failed() { failed_ = true; }
  PhysicalAddress doorbell_record() const { return rings_.doorbell_record; }
  PhysicalAddress block_address(std::uint16_t block) const {
    const std::uint32_t index = block & (blocks() - 1);
    return PhysicalAddress(rings_.send_ring.value() + std::uint64_t{index} * abi::kWqeBlockBytes);
  }

  /// What the library remembers of a posted entry, kept at its first block.
  struct Slot {
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
    std::uint32_t request = 0;  ///< the how-manieth on this queue
    std::uint16_t next = 0;     ///< first block after the entry
    WcOpcode opcode = WcOpcode::kNop;
  };
  /// Number of the work request that is pushed next.
  std::uint32_t next_request() const { return requests_; }
  void push(std::uint32_t wqe_blocks, Slot slot) {
    slot.request = requests_++;
    slot.next = static_cast<std::uint16_t>(producer_ + wqe_blocks);
    slots_[producer_ & (blocks() - 1)] = slot;
    producer_ = slot.next;
  }
  /// Frees everything up to the completed entry, which begins at block `wqe_counter`.
  const Slot& complete(std::uint16_t wqe_counter) {
    const Slot& slot = slots_[wqe_counter & (blocks() - 1)];
    consumer_ = slot.next;
    return slot;
  }
  void reset() {
    producer_ = 0;
    consumer_ = 0;
    requests_ = 0;
    failed_ = false;
    if (receives_) receives_->reset();
  }

 private:
  QpRings rings_;
  Transport transport_;
  std::uint32_t max_inline_;
  SharedReceiveQueue* srq_;
  std::optional<UserReceiveQueue> receives_;
  std::vector<Slot> slots_;
  std::uint16_t producer_ = 0;  ///< in blocks, as the NIC counts
  std::uint16_t consumer_ = 0;
  std::uint32_t requests_ = 0;
  bool failed_ = false;
};

}  // namespace rnicsim
