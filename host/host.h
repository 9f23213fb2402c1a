// SPDX-License-Identifier: MIT
// One server: construction and wiring only. RAM, frames, cores, and for each NIC a PCIe link with
// its root complex, the driver's instance, and between these the guard over the NIC's DMA. The NIC
// itself is outside: its DMA initiator binds to pcie(n).dma_socket, and pcie(n).mmio().socket to
// its BAR. A DMA exerciser has a link of its own, without driver and guard.
//
//   program -> CpuTask on a CpuCore -> Verbs -> memory, MMIO store -> PcieLink -> NIC
//                                  \-> Driver (commands, tables in memory) -> ...
//                                  \-> NetworkStack (sockets, TCP, rings in memory) -> PcieLink ->
//                                  NIC
//   NIC -> PcieLink -> InterruptController -> the driver's handler on a CpuCore -> a sleeper wakes
//   NIC -> PcieLink -> PcieRoute -> PcieSwitch, RootComplex -> Memory or Gpu
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <systemc>
#include <vector>

#include "host/cpu_core.h"
#include "host/cpu_usage.h"
#include "host/dma_guard.h"
#include "host/driver.h"
#include "host/frame_allocator.h"
#include "host/gpu.h"
#include "host/host_config.h"
#include "host/interrupt_controller.h"
#include "host/iommu.h"
#include "host/kernel/network_stack.h"
#include "host/memory.h"
#include "host/page_table.h"
#include "host/pcie_link.h"
#include "host/pcie_route.h"
#include "host/pcie_switch.h"
#include "host/root_complex.h"
#include "host/verbs.h"
#include "model/metrics.h"
#include "model/probe.h"
#include "model/scheduler.h"
#include "model/signal.h"

namespace rnicsim {

class Host : public sc_core::sc_module {
 public:
  /// `first_nic` is the run-wide number of the host's first NIC; `seed`: of all that is random in
  /// it.
  Host(const sc_core::sc_module_name& name, Scheduler& scheduler, const HostConfig& config,
       std::uint64_t seed, std::uint16_t first_nic, unsigned nics, bool exerciser = false);

  const HostConfig& config() const { return config_; }
  Scheduler& scheduler() const { return scheduler_; }
  Memory& memory() { return memory_; }
  FrameAllocator& frames() { return frames_; }
  CpuUsage& usage() { return usage_; }
  InterruptController& interrupts() { return interrupts_; }
  CpuCore& core(unsigned n) { return *cores_[n]; }
  unsigned cores() const { return static_cast<unsigned>(cores_.size()); }
  PcieLink& pcie(unsigned nic) { return *links_[nic]; }
  /// REQUIRES: built with an exerciser.
  PcieLink& exerciser_pcie() { return *exerciser_link_; }
  Driver& driver(unsigned nic) { return *drivers_[nic]; }
  /// TCP over this NIC; opened by a program.
  NetworkStack& network(unsigned nic) { return *networks_[nic]; }
  Gpu& gpu(unsigned n) { return *gpus_[n]; }

  /// What DMA has written for this purpose, wherever.
  Bytes written(DmaPurpose purpose) const;

  /// Nothing is under way on the PCIe links.
  bool idle() const;
  /// PCIe link, driver and network path of NIC n under component first_nic + n; programs attach
  /// their own Verbs.
  void attach(ProbeSink* sink, std::uint32_t first_nic);
  /// Under `scope` ("host.A"): cpu, interrupts, memory, iommu, exerciser.pcie, gpu<n>, pcie_switch,
  /// root_complex (the last only if there is a GPU), nic<n>.pcie, nic<n>.driver, nic<n>.kernel. The
  /// last three are the host's but there is one for each NIC, so they stand under it.
  void report(const MetricScope& scope);
  /// Likewise.
  void signals(const SignalScope& scope);

 private:
  void route(unsigned nic);
  void add_network(unsigned nic, std::uint64_t seed);
  Scheduler& scheduler_;
  HostConfig config_;
  Memory memory_;
  FrameAllocator frames_;
  CpuUsage usage_;
  InterruptController interrupts_;
  std::vector<std::unique_ptr<CpuCore>> cores_;
  std::vector<std::unique_ptr<DmaGuard>>
      guards_;                    ///< one a NIC: regions of another are not its own
  std::unique_ptr<Iommu> iommu_;  ///< null: DMA addresses pass through
  RootComplex root_complex_;
  std::optional<PcieSwitch> switch_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<std::unique_ptr<PcieRoute>> routes_;  ///< one a NIC, if there is anything to route
  std::vector<std::unique_ptr<PcieLink>> links_;
  std::unique_ptr<PcieLink> exerciser_link_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::vector<std::unique_ptr<NetworkStack>> networks_;
};

/// A process: its address space and, in it, the verbs library opened on one NIC.
struct Process {
  explicit Process(Host& host, unsigned nic = 0)
      : pages(host.memory(), host.frames()),
        verbs(host.config().verbs, host.driver(nic), pages, host.pcie(nic).mmio()) {}
  PageTable pages;
  Verbs verbs;
};

}  // namespace rnicsim
