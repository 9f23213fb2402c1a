// SPDX-License-Identifier: MIT
// The verbs library's objects and requests: work requests and completions as an application sees
// them, and the library's own side of a send queue and a completion queue (indices; the entries are
// in host RAM).
#pragma once

#include <cstdint>
#include <vector>

#include "host/driver.h"
#include "model/nic_abi.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

struct ScatterGather {
  VirtualAddress address;
  std::uint32_t length = 0;
  MemoryKey lkey;
};

struct SendRequest {
  std::uint64_t id = 0;  ///< comes back in the completion
  abi::WqeOpcode opcode = abi::WqeOpcode::kRdmaWrite;
  const ScatterGather* list = nullptr;
  std::uint32_t list_length = 0;
  VirtualAddress remote_address;
  MemoryKey rkey;
  std::uint32_t immediate = 0;
  bool signaled = true;
  bool inline_data = false;  ///< the data go into the entry; lkeys do not matter
};

struct WorkCompletion {
  std::uint64_t id = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  std::uint8_t vendor_syndrome = 0;
  abi::WqeOpcode opcode = abi::WqeOpcode::kNop;
  Qpn qpn;
  std::uint64_t bytes = 0;
  WorkRequestId work_request;
};

struct QueuePairInit {
  PdNumber pd;
  class CompletionQueue* send_cq = nullptr;
  class CompletionQueue* receive_cq = nullptr;
  Transport transport = Transport::kRc;
  std::uint32_t max_send_requests = 128;  ///< of up to 64 B each; longer ones take more room
  std::uint32_t max_inline = 220;
};

class CompletionQueue {
 public:
  explicit CompletionQueue(const CqRings& rings) : rings_(rings) {}
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
  std::uint32_t consumer_ = 0;
};

class QueuePair {
 public:
  QueuePair(const QpRings& rings, std::uint32_t max_inline)
      : rings_(rings), max_inline_(max_inline), slots_(std::size_t{1} << rings.log_send_blocks) {}
  Qpn qpn() const { return rings_.qpn; }
  std::uint32_t blocks() const { return 1u << rings_.log_send_blocks; }
  std::uint32_t free_blocks() const {
    return blocks() - static_cast<std::uint16_t>(producer_ - consumer_);
  }
  std::uint16_t producer() const { return producer_; }
  std::uint32_t max_inline() const { return max_inline_; }
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
    abi::WqeOpcode opcode = abi::WqeOpcode::kNop;
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
  }

 private:
  QpRings rings_;
  std::uint32_t max_inline_;
  std::vector<Slot> slots_;
  std::uint16_t producer_ = 0;  ///< in blocks, as the NIC counts
  std::uint16_t consumer_ = 0;
  std::uint32_t requests_ = 0;
};

}  // namespace rnicsim
