// SPDX-License-Identifier: MIT
// Where the bytes stand that a connection may still have to send: in kernel memory, a ring
// addressed by stream position that a program's bytes were copied into; or, of a zero-copy send, in
// the program's own pages, pinned until the peer has acknowledged them.
//
// Approximates: the ring is contiguous kernel memory (Linux takes pieces of up to 32 KiB).
#pragma once

#include <cstdint>
#include <optional>

#include "host/frame_allocator.h"
#include "host/page_table.h"
#include "model/ring.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

class SendStore {
 public:
  SendStore(FrameAllocator& frames, Bytes capacity) : frames_(frames), capacity_(capacity) {}
  ~SendStore() { release(); }
  SendStore(const SendStore&) = delete;
  SendStore& operator=(const SendStore&) = delete;

  /// Kernel memory of the whole capacity, once. False if there is none.
  bool reserve();
  /// Gives everything back.
  void release();

  struct Run {
    PhysicalAddress at;
    std::uint64_t bytes;
  };
  /// The place in the ring for what follows at `position`, at most `bytes` of it.
  Run place(std::uint64_t position, std::uint64_t bytes) const;
  /// [from, from + bytes), pinned, will be the stream from `position` on. False if not all of it is
  /// mapped.
  bool pin(std::uint64_t position, std::uint64_t bytes, PageTable& pages, VirtualAddress from);
  /// Where the stream stands from `position` on, as far as it is contiguous, at most `bytes`.
  Run find(std::uint64_t position, std::uint64_t bytes) const;

  /// Everything before `position` has arrived: unpins. Returns how many zero-copy sends are done.
  unsigned acknowledge(std::uint64_t position);
  bool has_pinned() const { return !pinned_.empty(); }

 private:
  struct Pinned {
    std::uint64_t position;
    std::uint64_t bytes;
    PageTable* pages;
    VirtualAddress from;
  };
  FrameAllocator& frames_;
  Bytes capacity_;
  std::optional<PhysicalAddress> ring_;
  Ring<Pinned> pinned_;
};

}  // namespace rnicsim
