// SPDX-License-Identifier: MIT
// The driver's memory regions: what makes a range of a process's memory reachable for the NIC.
//
// Registration is three timed parts, each with a probe record: pin every page; build the
// translation table (a radix tree of 512-entry pages, one to three levels, model/nic_abi) in host
// RAM; create the key entry, issue the key and tell the NIC. Deregistration makes the entry
// invalid, has the NIC forget it, and only then frees the table and unpins. A key index that is
// used again gets the next variant, so that a stale key is refused; an invalid entry keeps its key,
// so that the NIC can tell a stale key from one never issued. The guard (host/dma_guard) is told
// which frames a region has.
//
// Keys are chosen in sequence or at random (DriverConfig::key_allocation); random ones are harder
// to guess, and begin with a variant of any value, so that the NIC may take one that was never
// issued for a stale one.
//
// A memory window of type 2 is a key entry that is not valid until a work queue entry binds it. The
// NIC refuses to forget a region that has windows; its entry is then put back, but meanwhile an
// access to the region may have been refused. The guard knows nothing of windows: they lie within
// regions.
// A region paged on demand (AccessFlags::kOnDemand, as IBV_ACCESS_ON_DEMAND) is registered without
// pinning, with a table that has no page present; host/demand_paging brings pages in when the NIC
// asks for them. The guard knows all its frames from the beginning: where an absent page is, the
// NIC cannot know. Its pages stay until it is deregistered (the kernel may take them away any
// time). Ignores: physically contiguous shortcuts (a region of one page still has a table). lkey
// and rkey are the same key, as on mlx5.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "host/command_channel.h"
#include "host/cpu_core.h"
#include "host/dma_guard.h"
#include "host/driver_config.h"
#include "host/frame_allocator.h"
#include "host/page_table.h"
#include "host/result.h"
#include "model/nic_abi.h"
#include "model/probe.h"
#include "model/random.h"

namespace rnicsim {

struct MemoryRegion {
  MemoryKey lkey;
  MemoryKey rkey;
  PdNumber pd;
  VirtualAddress address;
  std::uint64_t length = 0;
};

/// Of type 2. Its key changes with every bind.
struct MemoryWindow {
  MemoryKey rkey;
  PdNumber pd;
};

class MemoryRegistration {
 public:
  MemoryRegistration(const DriverConfig& config, Memory& memory, FrameAllocator& frames,
                     CommandChannel& commands, DmaGuard& guard, Probe& probe);

  /// Where the key table stands in host RAM (2^log_keys entries).
  void open(PhysicalAddress key_table) { key_table_ = key_table; }

  /// REQUIRES of the range, else EINVAL: not empty, no wrap past 2^64. EFAULT: not within one
  /// mapping. ENOMEM: no key or no table page left.
  Result<MemoryRegion> add(CpuTask& task, PageTable& pages, PdNumber pd, VirtualAddress address,
                           std::uint64_t length, AccessFlags access);
  /// Pages of the range that the region of `key` has not yet, if it is paged on demand; what is
  /// outside the region does not count.
  std::uint64_t absent(MemoryKey key, VirtualAddress address, std::uint64_t bytes);
  /// Puts them into its table; returns how many they were.
  std::uint64_t bring_in(MemoryKey key, VirtualAddress address, std::uint64_t bytes);
  /// EINVAL: no such key. EBUSY: memory windows are bound to it.
  Errno remove(CpuTask& task, MemoryKey key);

  /// ENOMEM: no key left.
  Result<MemoryWindow> add_window(CpuTask& task, PdNumber pd);
  /// By any key that it has had. EINVAL: no such window.
  Errno remove_window(CpuTask& task, MemoryKey key);

  std::uint64_t regions() const { return regions_; }
  Bytes table_bytes() const { return Bytes(table_pages_ * abi::kTablePageBytes); }

 private:
  struct Region {
    bool used = false;
    bool window = false;
    bool on_demand = false;
    std::uint8_t variant = 0;
    std::uint8_t levels = 0;
    std::uint64_t page_count = 0;
    std::uint64_t pages_here = 0;  ///< present in the table
    PageTable* pages = nullptr;
    VirtualAddress address;
    std::vector<PhysicalAddress> table;  ///< all its pages, the root last
  };
  static DmaGuard::Frames frames_of(const Region& region, const PageTable::Mapping& mapping);
  std::uint32_t take_index();
  std::uint32_t next_index();
  std::uint32_t random_index();
  /// Of a key's index, if it is in use.
  Region* find(std::uint32_t index);
  void give_index(std::uint32_t index);
  bool build_table(Region& region, const PageTable::Mapping& mapping);
  PhysicalAddress table_entry(const Region& region, std::uint64_t page) const;
  template <class Visit>
  std::uint64_t for_each_absent(MemoryKey key, VirtualAddress address, std::uint64_t bytes,
                                Visit visit);
  void free_table(Region& region);
  bool write_level(const std::vector<PhysicalAddress>& entries, bool present,
                   std::vector<PhysicalAddress>& out);
  void write_key(std::uint32_t index, const abi::KeyEntry& entry);
  void write_invalid_key(MemoryKey key);
  PhysicalAddress key_address(std::uint32_t index) const {
    return PhysicalAddress(key_table_.value() + std::uint64_t{index} * abi::KeyEntry::kBytes);
  }
  void report(CpuTask& task, ProbeKind kind, Time begin, std::uint64_t value) const;

  const DriverConfig& config_;
  Memory& memory_;
  FrameAllocator& frames_;
  CommandChannel& commands_;
  DmaGuard& guard_;
  Probe& probe_;
  PhysicalAddress key_table_;
  std::map<std::uint32_t, Region> by_index_;  ///< used now or before; entries never move
  std::uint32_t next_index_ = 1;              ///< index 0 stays unused: key 0 is never valid
  std::vector<std::uint32_t> free_index_;     ///< used before, latest last
  Random random_;
  std::uint64_t regions_ = 0;
  std::uint64_t table_pages_ = 0;
};

}  // namespace rnicsim
