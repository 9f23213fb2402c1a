// SPDX-License-Identifier: MIT
// Host RAM: sparse physical memory in 4 KiB frames that exist once touched, a DRAM latency, one
// shared bandwidth, and counters of bytes by purpose.
//
// Models: read latency (row access, controller, on-chip network: one constant), write posting
// latency, bandwidth as a first-come first-served resource of whole 64 B lines. Ignores: banks,
// channels, partial-line writes (read-modify-write), the last-level cache and DDIO (a DMA read of a
// line that the CPU just wrote really hits in the cache and is 70 to 80 ns faster, pcie-bench on
// E5-2637v3; the preset's latency says which case it stands for).
// CPU accesses through `load`/`store` move bytes only; their time is the CPU core's business.
//
// Metrics: occupancy.max counts DMA accesses that have arrived and are not through the bandwidth. A
// write is asked for at its last byte, so one that was through between its first byte and then is
// not seen beside it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/callback.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pcie_tlp.h"
#include "model/ring.h"
#include "model/sparse_array.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

/// The latencies belong to those of PcieConfig: with its defaults a 64 B read takes 520 ns, as
/// pcie-bench measured on E5-2637v3 with data in DRAM, and a write is visible 260 ns after its last
/// byte left the device, as RAMCloud's notes give for NIC to memory.
struct MemoryConfig {
  Bytes size{std::uint64_t{64} << 30};
  BitRate bandwidth = BitRate::gbps(480);  ///< 60 GB/s: four channels of DDR4-2133 less refresh
  Time read_latency = Time::ns(205);       ///< root complex asks -> first data at the root complex
  Time write_latency = Time::ns(110);  ///< last byte at the root complex -> visible to a CPU load
  void describe(Fields& fields);
};

class Memory {
 public:
  explicit Memory(const MemoryConfig& config);

  /// Bytes at once, without time; frames never written read as zeros and stay absent.
  /// An address beyond `size` is a broken invariant of the caller.
  void load(PhysicalAddress from, std::uint8_t* to, std::size_t bytes) const;
  void store(PhysicalAddress to, const std::uint8_t* from, std::size_t bytes);

  struct Access {
    Time first;  ///< first data available (read) or accepted (write)
    Time last;   ///< all data available (read) or visible to the CPU (write)
  };
  /// Timing of a DMA access whose first byte reaches the memory controller at `arrival`, the others
  /// no slower than the memory takes them; counts its bytes.
  Access time_read(Time arrival, Bytes bytes, DmaPurpose purpose);
  Access time_write(Time arrival, Bytes bytes, DmaPurpose purpose);

  /// A CPU that polls: `callback` runs once, with the entry's place in time, when a DMA write
  /// touches the 64 B line of `address` (called by the root complex at the instant of visibility).
  void watch(PhysicalAddress address, Callback callback);
  /// The root complex made [address, address + bytes) visible now: runs and forgets the watches.
  void wrote(PhysicalAddress address, Bytes bytes);

  Bytes written(DmaPurpose purpose) const { return written_[static_cast<unsigned>(purpose)]; }
  bool contains(PhysicalAddress address, Bytes bytes) const;
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

  Access access(Time arrival, Bytes bytes, Time latency);
  const std::uint8_t* frame(std::uint64_t number) const;
  std::uint8_t* touch(std::uint64_t number);
  void require(PhysicalAddress address, std::size_t bytes) const;

  MemoryConfig config_;
  SparseArray<std::unique_ptr<Table>, 256> tables_;  ///< of 2 MiB each
  Serialiser bandwidth_;
  std::vector<Watch> watches_;  ///< in the order of their calls; few: one for each sleeping poller
  std::vector<Callback> due_;
  std::uint64_t frames_ = 0;
  Bytes lines_moved_;
  Time waited_;      ///< for bandwidth
  Ring<Time> ends_;  ///< of accesses that were not through when the latest arrived
  std::size_t most_ = 0;
  std::array<Bytes, kDmaPurposes> read_{};
  std::array<Bytes, kDmaPurposes> written_{};
};

}  // namespace rnicsim
