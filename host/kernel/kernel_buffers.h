// SPDX-License-Identifier: MIT
// Kernel memory that received frames stand in from DMA until a program has copied them: buffers of
// one size, each with at most one frame or a part of one, in lists of what belongs together. The
// one given back last is taken first, as page pools do for the sake of the cache.
//
// The time of taking and giving is the caller's business.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "host/frame_allocator.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

struct KernelBuffer {
  PhysicalAddress page;
  std::uint32_t offset = 0;    ///< of the payload in it
  std::uint32_t length = 0;    ///< of the payload
  std::uint64_t position = 0;  ///< of its first byte in the stream, once it is part of one
  KernelBuffer* next = nullptr;

  PhysicalAddress data() const { return PhysicalAddress(page.value() + offset); }
  std::uint64_t behind() const { return position + length; }
};

/// Buffers in the order of their payload.
struct KernelBufferList {
  KernelBuffer* first = nullptr;
  KernelBuffer* last = nullptr;

  bool empty() const { return first == nullptr; }
  void push(KernelBuffer* buffer) {
    buffer->next = nullptr;
    (first == nullptr ? first : last->next) = buffer;
    last = buffer;
  }
  KernelBuffer* pop() {
    KernelBuffer* const buffer = first;
    first = buffer->next;
    return buffer;
  }
  /// Takes all of `others`.
  void append(KernelBufferList& others) {
    while (!others.empty()) push(others.pop());
  }
};

class KernelBuffers {
 public:
  KernelBuffers(FrameAllocator& frames, Bytes size) : frames_(frames), size_(size) {}
  KernelBuffers(const KernelBuffers&) = delete;
  KernelBuffers& operator=(const KernelBuffers&) = delete;

  /// Null if memory has run out.
  KernelBuffer* take();
  void give(KernelBuffer* buffer) { free_.push_back(buffer); }
  void give(KernelBufferList& list) {
    while (!list.empty()) give(list.pop());
  }
  Bytes size() const { return size_; }
  std::size_t in_use() const { return all_.size() - free_.size(); }

 private:
  FrameAllocator& frames_;
  Bytes size_;
  std::deque<KernelBuffer> all_;
  std::vector<KernelBuffer*> free_;
};

}  // namespace rnicsim
