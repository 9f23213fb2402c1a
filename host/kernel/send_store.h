// SPDX-License-Identifier: MIT
// Where the bytes stand that a connection may still have to send: in kernel memory, a ring
// addressed by stream position that a program's bytes were copied into; or, of a zero-copy send, in
// the program's own pages, pinned until the peer has acknowledged them.
//
// Nothing is given back that is still in use: pages are unpinned when, besides, the NIC has read
// every frame made of them, a late retransmission too; the ring goes when the connection is over,
// no frame is left and no program copies into it.
//
// Approximates: the ring is contiguous kernel memory (Linux takes pieces of up to 32 KiB). A
// retransmission that the acknowledgement has overtaken in the NIC's ring may carry what has been
// copied to its place since; the peer has no use for it.
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
  ~SendStore();
  SendStore(const SendStore&) = delete;
  SendStore& operator=(const SendStore&) = delete;

  /// Kernel memory of the whole capacity, once. False if there is none.
  bool reserve();
  /// The connection is over: gives everything back as soon as it can.
  void release();
  bool is_released() const { return released_; }

  /// A program copies into the ring as long as this lives.
  class Use {
   public:
    explicit Use(SendStore& store) : store_(store) { ++store.users_; }
    ~Use() {
      --store_.users_;
      store_.settle();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    SendStore& store_;
  };

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

  /// Everything before `position` has arrived. Returns how many zero-copy sends are done by that.
  unsigned acknowledge(std::uint64_t position);
  /// A frame of these bytes has been made, or the NIC has read one; the latter returns as
  /// acknowledge() does.
  void frame_made(std::uint64_t position, std::uint64_t bytes);
  unsigned frame_left(std::uint64_t position, std::uint64_t bytes);
  bool has_pinned() const { return !pinned_.empty(); }

 private:
  struct Pinned {
    std::uint64_t position;
    std::uint64_t bytes;
    PageTable* pages;
    VirtualAddress from;
    std::uint32_t frames = 0;  ///< made of it that the NIC has not read
    std::uint64_t behind() const { return position + bytes; }
  };
  template <class Change>
  void for_each_pinned(std::uint64_t position, std::uint64_t bytes, Change change);
  unsigned settle();

  FrameAllocator& frames_;
  Bytes capacity_;
  std::optional<PhysicalAddress> ring_;
  Ring<Pinned> pinned_;
  std::uint64_t acknowledged_ = 0;
  std::uint32_t frames_out_ = 0;
  std::uint32_t users_ = 0;
  bool released_ = false;
};

}  // namespace rnicsim
