// SPDX-License-Identifier: MIT
// The received bytes of a connection in the buffers where DMA left them, by stream position: what a
// program may read, and behind gaps what came too early.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/kernel/kernel_buffers.h"
#include "model/invariant.h"

namespace rnicsim {

class ReceiveStore {
 public:
  explicit ReceiveStore(KernelBuffers& pool) : pool_(pool) {}
  ReceiveStore(const ReceiveStore&) = delete;
  ReceiveStore& operator=(const ReceiveStore&) = delete;

  /// Of the bytes in `from`, `length` from the `skip`-th on belong at `position`. Takes all
  /// buffers; gives back those that hold nothing of it.
  void place(KernelBufferList& from, std::uint32_t skip, std::uint64_t position,
             std::uint32_t length);
  /// Calls visit(physical, bytes) for each piece of [position, position + bytes), which must have
  /// come, in order.
  template <class Visit>
  void for_each(std::uint64_t position, std::uint64_t bytes, Visit visit) const {
    for (const KernelBuffer* buffer = list_.first; bytes != 0; buffer = buffer->next) {
      if (buffer == nullptr || buffer->position > position)
        throw InvariantBroken("receive_store", Time(), "bytes that were received are not there");
      if (buffer->behind() <= position) continue;
      const std::uint64_t skip = position - buffer->position;
      const std::uint64_t n = std::min(bytes, buffer->length - skip);
      visit(PhysicalAddress(buffer->data().value() + skip), n);
      position += n;
      bytes -= n;
    }
  }
  /// What stands before `position` is needed no longer.
  void release_before(std::uint64_t position);

 private:
  void insert(KernelBuffer* buffer);
  KernelBuffers& pool_;
  KernelBufferList list_;  ///< by position; pieces may overlap
};

}  // namespace rnicsim
