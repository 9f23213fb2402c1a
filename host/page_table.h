// SPDX-License-Identifier: MIT
// The address space of one process: virtual ranges mapped with 4 KiB, 2 MiB or 1 GiB pages onto
// scattered physical frames of RAM or of a GPU's memory, and the CPU's loads and stores through it.
//
// Models: which frame each page has, pin counts (a pinned range cannot be unmapped).
// Stores leave nothing in the last-level cache: they stand for what programs did long ago.
// Ignores: the table's own layout in RAM, the CPU's TLB and page walks (their time is part of the
// application's cycles), page faults: map() populates every page, as after MAP_POPULATE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "host/frame_allocator.h"
#include "host/gpu.h"
#include "host/memory.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

class PageTable {
 public:
  struct Mapping {
    VirtualAddress start;
    Bytes length;  ///< whole pages
    PageSize page_size = PageSize::k4KiB;
    std::uint32_t pins = 0;  ///< registrations that hold the range
    Gpu* gpu = nullptr;      ///< whose memory it is, if not the host's
    std::vector<PhysicalAddress> frames;

    std::size_t page_of(VirtualAddress address) const {
      return (address.value() - start.value()) >> log_of(page_size);
    }
  };

  PageTable(Memory& memory, FrameAllocator& frames) : memory_(memory), allocator_(frames) {}

  /// A new range of at least `length` bytes, aligned to its page size, with an unmapped page before
  /// the next. Nothing if frames run out or length is zero.
  std::optional<VirtualAddress> map(Bytes length, PageSize page_size);
  /// The same, of a GPU's memory, in its pages.
  std::optional<VirtualAddress> map(Bytes length, Gpu& gpu);
  /// Takes back the range that begins at `start`. False if there is none or it is pinned.
  bool unmap(VirtualAddress start);

  std::optional<PhysicalAddress> translate(VirtualAddress address) const;
  /// The mapping that holds all of [address, address + length), or null.
  const Mapping* find(VirtualAddress address, Bytes length) const;
  /// As find; holds the mapping until unpin().
  const Mapping* pin(VirtualAddress address, Bytes length);
  void unpin(VirtualAddress address);

  /// CPU accesses, across pages. False, and nothing moved, if a byte is not mapped.
  bool load(VirtualAddress from, std::uint8_t* to, std::size_t bytes) const;
  bool store(VirtualAddress to, const std::uint8_t* from, std::size_t bytes);

  Memory& memory() const { return memory_; }

 private:
  std::optional<VirtualAddress> map(Bytes length, PageSize page_size, Gpu* gpu);
  std::optional<PhysicalAddress> allocate(PageSize page_size, Gpu* gpu);
  void release(const Mapping& mapping);
  static constexpr std::uint64_t kFirstAddress = 0x7f0000000000;
  /// Calls move(owner, physical, offset, bytes) for each piece that lies in one page; the owner is
  /// the memory or the GPU that has it.
  template <class Move>
  bool for_each_piece(VirtualAddress address, std::size_t bytes, Move move) const;

  Memory& memory_;
  FrameAllocator& allocator_;
  std::uint64_t next_ = kFirstAddress;
  std::map<std::uint64_t, Mapping> mappings_;  ///< by start; a Mapping stays where it is
};

}  // namespace rnicsim
