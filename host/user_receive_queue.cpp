// SPDX-License-Identifier: MIT
#include "host/user_receive_queue.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

Errno UserReceiveQueue::post(Memory& memory, const ReceiveRequest& request) {
  std::uint8_t image[abi::kSegmentBytes << kMaxLogSegments] = {};
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < request.list_length; ++i) {
    const ScatterGather& element = request.list[i];
    if (element.length == 0) continue;
    if (used == segments() || element.length >> 31 != 0) return Errno::kInvalid;
    abi::DataSegment{element.length, element.lkey, element.address}.write(
        image + std::size_t{used++} * abi::kSegmentBytes);
  }
  if (free_entries() == 0) return Errno::kNoMemory;
  if (used != segments())
    abi::DataSegment{0, abi::kEndOfList, {}}.write(image + std::size_t{used} * abi::kSegmentBytes);
  memory.store(entry_address(posted_), image, ring_.entry_bytes());
  slot(posted_) = {request.id, true};
  ++posted_;
  return Errno::kOk;
}

void UserReceiveQueue::publish(Memory& memory) const {
  std::uint8_t record[4];
  store_be32(record, posted_);
  memory.store(ring_.doorbell_record, record, sizeof record);
}

std::uint64_t UserReceiveQueue::complete(std::uint16_t number) {
  Slot& completed = slot(number);
  completed.pending = false;
  while (first_pending_ != posted_ && !slot(first_pending_).pending) ++first_pending_;
  return completed.id;
}

CompletionStatus UserReceiveQueue::scatter(PageTable& pages, std::uint16_t number,
                                           const std::uint8_t* data, std::uint32_t bytes) const {
  std::uint8_t image[abi::kSegmentBytes << kMaxLogSegments];
  pages.memory().load(entry_address(number), image, ring_.entry_bytes());
  std::uint32_t done = 0;
  for (std::uint32_t i = 0; i < segments() && done < bytes; ++i) {
    const auto segment = abi::DataSegment::read(image + std::size_t{i} * abi::kSegmentBytes);
    if (segment.lkey == abi::kEndOfList) break;
    const std::uint32_t piece = std::min(segment.byte_count, bytes - done);
    if (!pages.store(segment.address, data + done, piece))
      return CompletionStatus::kLocalProtectionError;
    done += piece;
  }
  return done == bytes ? CompletionStatus::kSuccess : CompletionStatus::kLocalLengthError;
}

}  // namespace rnicsim
