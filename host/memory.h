// SPDX-License-Identifier: MIT
// Host memory as a DMA request meets it by address: sparse bytes in 4 KiB frames that exist once
// touched, and the time of an access through the hop to its node (host/numa), the last-level cache
// (host/last_level_cache) and that node's DRAM (host/dram); counters of bytes by purpose and of
// what crosses the memory bus (host/memory_bus).
//
// By default there is one node with one channel and no cache: a latency and a shared bandwidth.
// Models: read latency (row access, controller, on-chip network: one constant), write posting
// latency, DDIO, channels, nodes, and what CPUs take of the bandwidth. Approximates: a request lies
// on the node of its first byte. Ignores: partial-line writes (read-modify-write), the bandwidth
// of the cache itself. Likely error: the latencies' sum is calibrated, each alone is an assumption.
// CPU accesses through `load`/`store` move bytes only; their time is the CPU core's business. A
// `store` leaves its lines in the cache; `poke` does not. With `shared_with_copies` what programs
// copy between here and a GPU (host/gpu_copy) or the kernel's memory (host/kernel/kernel_copy)
// takes its part of the bandwidth as DMA does; copies of a payload into a work request do not: what
// they read is in a core's own cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/dram.h"
#include "host/last_level_cache.h"
#include "host/memory_bus.h"
#include "host/numa.h"
#include "model/callback.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pcie_tlp.h"
#include "model/sparse_array.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// The latencies belong to those of PcieConfig: with its defaults a 64 B read takes 520 ns, as
/// pcie-bench measured on E5-2637v3 with data in DRAM, and a write is visible 260 ns after its last
/// byte left the device, as RAMCloud's notes give for NIC to memory.
struct MemoryConfig {
  Bytes size{std::uint64_t{64} << 30};
  /// Of one node, 60 GB/s: four channels of DDR4-2133 less refresh.
  BitRate bandwidth = BitRate::gbps(480);
  Time read_latency = Time::ns(205);   ///< root complex asks -> first data at the root complex
  Time write_latency = Time::ns(110);  ///< last byte at the root complex -> visible to a CPU load
  std::uint32_t channels = 1;          ///< of each node, sharing `bandwidth`
  Bytes channel_interleave{256};
  BitRate cpu_traffic;  ///< of `bandwidth`, what CPUs take for themselves
  bool shared_with_copies = false;
  LastLevelCacheConfig cache;
  NumaConfig numa;
  void describe(Fields& fields);
};

class Memory {
 public:
  explicit Memory(const MemoryConfig& config);

  /// Bytes at once, without time; frames never written read as zeros and stay absent.
  /// An address beyond `size` is a broken invariant of the caller.
  void load(PhysicalAddress from, std::uint8_t* to, std::size_t bytes) const;
  void store(PhysicalAddress to, const std::uint8_t* from, std::size_t bytes);
  /// As store, but by nobody whose cache lines it would leave: DMA, or the machine's outside.
  void poke(PhysicalAddress to, const std::uint8_t* from, std::size_t bytes);

  struct Access {
    Time first;    ///< first data available (read) or accepted (write)
    Time last;     ///< all data available (read) or visible to the CPU (write)
    Time latency;  ///< of its slowest line, without waiting for bandwidth
  };
  /// Timing of a DMA access whose first byte reaches the memory controller at `arrival`, the others
  /// no slower than the memory takes them; counts its bytes.
  /// Without `snoop` the cache is not asked, and DRAM alone answers.
  Access time_read(Time arrival, PhysicalAddress address, Bytes bytes, DmaPurpose purpose,
                   bool snoop = true);
  Access time_write(Time arrival, PhysicalAddress address, Bytes bytes, DmaPurpose purpose,
                    bool snoop = true);
  /// The same for a piece of a copy that a GPU, or a CPU to or from one, makes on the devices'
  /// node; and, without time, of one that takes none of the bandwidth.
  Access time_copy(bool write, Time arrival, PhysicalAddress address, Bytes bytes);
  void count_copy(bool write, Bytes bytes);

  /// What a CPU that copies meets at `now` of a range's lines. They stand in the cache, if there is
  /// one, afterwards.
  struct CpuAccess {
    std::uint64_t lines = 0;
    std::uint64_t missed = 0;  ///< of these, not in the cache
    Time through;  ///< when DRAM's bandwidth has served it; `now` unless it is shared with copies
  };
  CpuAccess cpu_read(Time now, PhysicalAddress address, Bytes bytes);
  CpuAccess cpu_write(Time now, PhysicalAddress address, Bytes bytes);
  /// No write is visible sooner after its last byte.
  Time least_write_latency() const { return least_write_latency_; }
  /// Whether addresses matter: with the defaults all are alike.
  bool by_address() const { return by_address_; }
  /// Null without one.
  LastLevelCache* cache() { return cache_.get(); }

  /// A CPU that polls: `callback` runs once, with the entry's place in time, when a DMA write
  /// touches the 64 B line of `address` (called by the root complex at the instant of visibility).
  void watch(PhysicalAddress address, Callback callback);
  /// Forgets the watches of this callback's object: it looks no longer.
  void unwatch(const Callback& callback);
  /// The root complex made [address, address + bytes) visible now: runs and forgets the watches.
  void wrote(PhysicalAddress address, Bytes bytes);

  Bytes written(DmaPurpose purpose) const { return written_[static_cast<unsigned>(purpose)]; }
  bool contains(PhysicalAddress address, Bytes bytes) const;
  const MemoryBus& bus() const { return bus_; }
  const MemoryConfig& config() const { return config_; }
  void report(const MetricScope& scope) const;

 private:
  static constexpr std::uint64_t kFrameBytes = 4096;
  static constexpr std::uint64_t kFramesPerTable = 512;
  static constexpr std::uint64_t kLineBytes = 64;
  using Frame = std::array<std::uint8_t, kFrameBytes>;
  using Table = std::array<std::unique_ptr<Frame>, kFramesPerTable>;
  struct Watch {
    std::uint64_t line;
    Callback callback;
  };

  struct Request {
    Time arrival;
    std::uint64_t address;
    Bytes bytes;
    bool snoop;
    BusUse use;
  };
  Access read_from(const Request& request);
  Access write_to(const Request& request);
  Access read_lines(Dram& dram, const Request& request);
  Access write_lines(Dram& dram, const Request& request);
  /// All of it from or to DRAM.
  Dram::Span move(Dram& dram, const Request& request);
  CpuAccess cpu_access(const Request& request);
  const std::uint8_t* frame(std::uint64_t number) const;
  std::uint8_t* touch(std::uint64_t number);
  void require(PhysicalAddress address, std::size_t bytes) const;

  MemoryConfig config_;
  SparseArray<std::unique_ptr<Table>, 256> tables_;  ///< of 2 MiB each
  bool by_address_;
  Time least_write_latency_;
  Numa numa_;
  std::vector<Dram> dram_;  ///< of each node
  std::unique_ptr<LastLevelCache> cache_;
  MemoryBus bus_;
  std::vector<Watch> watches_;  ///< in the order of their calls; few: one for each sleeping poller
  std::vector<Callback> due_;
  std::uint64_t frames_ = 0;
  std::array<Bytes, kDmaPurposes> read_{};
  std::array<Bytes, kDmaPurposes> written_{};
  Bytes copied_from_;
  Bytes copied_to_;
};

}  // namespace rnicsim
