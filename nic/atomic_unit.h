// SPDX-License-Identifier: MIT
// Executes compare-and-swap and fetch-and-add on 8 B of host memory: reads the value by DMA,
// computes, writes the new value by DMA. A compare that fails writes nothing.
//
// Atomic among the NIC's own atomics (IBV_ATOMIC_HCA of libibverbs) through `slots` lock slots that
// share out the byte offsets of a 4 KiB page: operations on one slot, so also those on the same
// offset in different pages, run one after another in the order of their coming. A slot is held
// from the issue of the read until the write has been handed to PCIe, behind which every later read
// of the NIC stays. The value in host memory is in the host's byte order, taken as little-endian
// (x86). Without `locks` operations run side by side and are not atomic: what one adds another may
// overwrite. That is for looking at what the locks cost.
//
// Reads are submitted to the engine of the posted writes, not to one of the reading engines: so a
// read never leaves the NIC before a write that the NIC submitted earlier, and PCIe does not let a
// read pass a write. What an earlier RDMA WRITE put there is seen.
//
// Connects to: the responder. `outstanding` operations have a place, from submit() to release().
// Ignores: PCIe's own atomic requests. Approximates: the read waits in one queue with the writes,
// which it may hold up when read tags are short.
#pragma once

#include <cstdint>
#include <vector>

#include "model/callback.h"
#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pipeline.h"
#include "model/scheduler.h"
#include "nic/pcie_endpoint.h"

namespace rnicsim {

struct AtomicUnitConfig {
  std::uint32_t slots = 4096;
  std::uint32_t outstanding = 32;
  PipelineConfig pipeline{Cycles(8), Cycles(8)};
  bool locks = true;
  void describe(Fields& fields);
};

class AtomicUnit {
 public:
  enum class Kind : std::uint8_t { kCompareSwap, kFetchAdd };
  struct Operation {
    Kind kind = Kind::kFetchAdd;
    PhysicalAddress address;  ///< a multiple of 8
    std::uint64_t swap_or_add = 0;
    std::uint64_t compare = 0;
    WorkRequestId work_request{};
  };
  /// Names an operation under way.
  using Ticket = std::uint32_t;
  static constexpr std::uint32_t kBytes = 8;

  AtomicUnit(Scheduler& scheduler, const Clock& clock, PcieEndpoint& pcie,
             const AtomicUnitConfig& config);

  std::size_t capacity() const { return places_.size(); }
  /// False: there is no place; `when_room` runs when one has become free.
  bool has_room(Callback when_room);
  /// `done` runs when the operation has been executed, its write handed to PCIe. Operations on
  /// different slots may end in another order. REQUIRES has_room().
  Ticket submit(const Operation& operation, Callback done);
  /// The value before the operation. REQUIRES that it is done.
  std::uint64_t original(Ticket ticket) const { return places_[ticket].original; }
  /// Gives the operation's place back. REQUIRES that it is done.
  void release(Ticket ticket);

  bool idle() const { return free_.size() == places_.size(); }
  void report(const MetricScope& scope) const;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Place {
    Operation operation;
    Callback done;
    std::uint64_t original = 0;
    std::uint32_t next = kNone;  ///< that waits for the same slot
    std::uint8_t value[kBytes] = {};
  };
  /// The operation that holds the slot, and the last that waits behind it.
  struct Slot {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };

  Slot& slot_of(const Place& place);
  void lock(std::uint64_t ticket);
  void read(std::uint32_t ticket);
  void compute(std::uint64_t ticket);
  void end(std::uint64_t ticket);
  void unlock(const Place& place);
  void dma(std::uint32_t ticket, bool write, Callback done);

  Scheduler& scheduler_;
  Pipeline pipeline_;
  PcieEndpoint& pcie_;
  std::vector<Place> places_;
  std::vector<Ticket> free_;
  std::vector<Slot> slots_;
  bool locks_;
  std::vector<Callback> want_room_;
  std::uint32_t waiting_ = 0;  ///< for a lock
  std::uint32_t most_ = 0;
  Time waiting_since_;
  Time stalled_locks_;
  Time full_since_;
  Time stalled_outstanding_;
  Time busy_;
  Time busy_since_;
  std::uint64_t operations_ = 0;
  std::uint64_t mismatched_ = 0;
};

}  // namespace rnicsim
