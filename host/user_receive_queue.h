// SPDX-License-Identifier: MIT
// The verbs library's side of a receive queue, shared or of one queue pair: writes entries into the
// ring in host RAM (model/nic_abi) and remembers whose they are.
//
// The NIC takes entries in the order of the ring. Those of a shared queue may complete in another
// order, as messages of several queue pairs end at different times; an entry's place is free again
// when it and all before it have completed.
// Ignores: an entry of a shared queue whose queue pair went to RESET in the middle of its message
// never completes, and its place is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "host/memory.h"
#include "host/page_table.h"
#include "host/result.h"
#include "host/work_requests.h"
#include "model/nic_abi.h"

namespace rnicsim {

/// A receive ring, as the process maps it.
struct ReceiveMapping {
  PhysicalAddress ring;
  PhysicalAddress doorbell_record;
  std::uint8_t log_entries = 0;   ///< at most 15: completions name entries by 16 bits
  std::uint8_t log_segments = 0;  ///< of one entry

  std::uint32_t entry_bytes() const { return abi::kSegmentBytes << log_segments; }
  Bytes bytes() const { return Bytes(std::uint64_t{entry_bytes()} << log_entries); }
};

class UserReceiveQueue {
 public:
  static constexpr std::uint8_t kMaxLogEntries = 15;
  static constexpr std::uint8_t kMaxLogSegments = 5;

  explicit UserReceiveQueue(const ReceiveMapping& ring)
      : ring_(ring), slots_(std::size_t{1} << ring.log_entries) {}
  std::uint32_t entries() const { return 1u << ring_.log_entries; }
  std::uint32_t segments() const { return 1u << ring_.log_segments; }
  std::uint32_t free_entries() const { return entries() - (posted_ - first_pending_); }
  /// Entries ever posted: what the doorbell record says.
  std::uint32_t posted() const { return posted_; }
  bool outstanding() const { return posted_ != first_pending_; }
  PhysicalAddress doorbell_record() const { return ring_.doorbell_record; }
  PhysicalAddress entry_address(std::uint32_t number) const {
    const std::uint64_t index = number & (entries() - 1);
    return PhysicalAddress(ring_.ring.value() + index * ring_.entry_bytes());
  }

  /// Writes one entry, not the doorbell record. ENOMEM: no place is free. EINVAL: more pieces than
  /// an entry has segments, or one of 2 GiB and more.
  Errno post(Memory& memory, const ReceiveRequest& request);
  void publish(Memory& memory) const;
  /// Takes the completed entry out; returns the id of its request.
  std::uint64_t complete(std::uint16_t number);
  /// Copies a message that came inside its completion to where the entry says.
  CompletionStatus scatter(PageTable& pages, std::uint16_t number, const std::uint8_t* data,
                           std::uint32_t bytes) const;
  void reset() {
    posted_ = 0;
    first_pending_ = 0;
  }

 private:
  struct Slot {
    std::uint64_t id = 0;
    bool pending = false;
  };
  Slot& slot(std::uint32_t number) { return slots_[number & (entries() - 1)]; }

  ReceiveMapping ring_;
  std::vector<Slot> slots_;
  std::uint32_t posted_ = 0;
  std::uint32_t first_pending_ = 0;
};

}  // namespace rnicsim
