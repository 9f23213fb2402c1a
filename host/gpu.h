// SPDX-License-Identifier: MIT
// A GPU as RDMA sees it: device memory behind a BAR, and a copy engine between it and host memory.
//
// Connects to: host/pcie_route, over which NICs read and write its memory (GPUDirect RDMA);
// host/page_table, which maps its memory into a process; programs that stage through host memory
// (host/gpu_copy).
// Models: the GPU's own link, the rates at which its BAR takes writes and answers reads (reading is
// the slower of the two on every GPU measured), latency to and from its memory, physical pages of
// 2 MiB in the order of allocation, one copy engine in order with a launch latency, the price of
// the CPU's own loads and stores (uncached loads of a BAR cross the link one by one; stores are
// write combined). Defaults: read and write rates are those that a Gen3 x16 link allows besides its
// headers, an assumption of GPUs since Pascal; launch latency 7 us a cudaMemcpy, an assumption;
// loads 0.67 GB/s and stores 17.9 GB/s of a core are what gdrcopy gave on an H800 (sglang issue
// 6193). Ignores: kernels that run on it, its caches and memory channels (one bandwidth), a BAR
// smaller than its memory, the 64 KiB pages that GPU drivers really hand out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/memory.h"
#include "host/pcie_wire.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/pcie_tlp.h"
#include "model/ring.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

struct GpuConfig {
  Bytes memory{std::uint64_t{16} << 30};
  BitRate memory_bandwidth = BitRate::gbps(5600);
  std::uint32_t generation = 3;
  std::uint32_t lanes = 16;
  Bytes max_payload{256};
  Time link_latency = Time::ns(100);
  Time read_latency = Time::ns(500);
  Time write_latency = Time::ns(100);
  BitRate bar_read_rate = BitRate::gbps(100);
  BitRate bar_write_rate = BitRate::gbps(200);
  BitRate cpu_load_rate = BitRate(5'360'000'000);
  BitRate cpu_store_rate = BitRate(143'200'000'000);
  Time copy_launch = Time::us(7);
  BitRate copy_rate = BitRate::gbps(96);
  void describe(Fields& fields);
};

class Gpu {
 public:
  static constexpr Bytes kPageBytes{2 << 20};
  /// GPU number n of its host: its memory stands above all RAM in the physical address space.
  Gpu(const GpuConfig& config, unsigned number);

  const GpuConfig& config() const { return config_; }
  bool contains(PhysicalAddress address, Bytes bytes) const {
    return address.value() >= base_ && memory_.contains(local(address), bytes);
  }
  /// A page of device memory, or nothing if all are taken.
  std::optional<PhysicalAddress> allocate_page();
  void release_page(PhysicalAddress page) { released_.push_back(page); }

  /// Bytes at once, without time.
  void load(PhysicalAddress from, std::uint8_t* to, std::size_t bytes) const {
    memory_.load(local(from), to, bytes);
  }
  void poke(PhysicalAddress to, const std::uint8_t* from, std::size_t bytes) {
    memory_.poke(local(to), from, bytes);
  }

  /// A write that is at the GPU's port: when its bytes have reached the BAR. They are visible
  /// `write_latency` later.
  PcieSpan write(const PcieSpan& span, Bytes bytes, Bytes link_bytes, DmaPurpose purpose);
  /// The data of a read request that is at the GPU's port, at the port again.
  PcieSpan read(const PcieSpan& request, Bytes bytes, Bytes link_bytes, DmaPurpose purpose);

  struct Copy {
    std::uint64_t number;
    Time begin;  ///< of its first byte
    Time end;
  };
  /// A copy that a program launches at `at`, as fast as the copy engine makes it. Copies ahead of
  /// it may still be delayed, and it with them.
  Copy copy(Time at, Bytes bytes);
  /// What is planned by now of a copy that has not ended.
  Copy planned(std::uint64_t number) const;
  /// Host memory is slower: this copy, under way, ends later, and those behind it may begin later.
  void delay_copy(std::uint64_t number, Time by);
  Time copy_time(Bytes bytes) const { return copies_.byte_time().of(bytes); }
  /// How long a core takes for its own loads or stores.
  Time cpu_load(Bytes bytes) const { return ByteTime(config_.cpu_load_rate).of(bytes); }
  Time cpu_store(Bytes bytes) const { return ByteTime(config_.cpu_store_rate).of(bytes); }

  Bytes written(DmaPurpose purpose) const { return memory_.written(purpose); }
  void report(const MetricScope& scope) const;

 private:
  PhysicalAddress local(PhysicalAddress address) const {
    return PhysicalAddress(address.value() - base_);
  }

  GpuConfig config_;
  std::uint64_t base_;
  Memory memory_;
  PcieWire link_in_;
  PcieWire link_out_;
  PcieWire bar_writes_;
  PcieWire bar_reads_;
  struct Launched {
    Time ready;  ///< may begin, if the engine is free
    Time begin;
    Time end;
  };
  Serialiser copies_;
  Ring<Launched> launched_;  ///< the last of them is number copy_count_ - 1
  std::uint64_t pages_ = 0;  ///< handed out at least once
  std::vector<PhysicalAddress> released_;
  std::uint64_t copy_count_ = 0;
  Bytes copied_;
  Time copying_;
};

}  // namespace rnicsim
