// SPDX-License-Identifier: MIT
// The settings of one server: those of its blocks under the blocks' names.
#pragma once

#include <optional>
#include <vector>

#include "host/cpu_core.h"
#include "host/driver_config.h"
#include "host/frame_allocator.h"
#include "host/gpu.h"
#include "host/interrupt_controller.h"
#include "host/iommu.h"
#include "host/kernel/kernel_config.h"
#include "host/memory.h"
#include "host/pcie_config.h"
#include "host/pcie_switch.h"
#include "host/root_complex.h"
#include "host/tcp/tcp_config.h"
#include "host/verbs_config.h"
#include "model/units.h"

namespace rnicsim {

/// RAM, and the pages that applications get their buffers in.
struct HostMemoryConfig : MemoryConfig {
  Bytes page_size = bytes_of(PageSize::k4KiB);
  PageSize buffer_pages() const;
  void describe(Fields& fields);
};

struct HostConfig {
  HostMemoryConfig memory;
  CpuConfig cpu;
  InterruptConfig interrupt;
  DriverConfig driver;
  VerbsConfig verbs;
  KernelConfig kernel;
  TcpConfig tcp;
  PcieConfig pcie;
  IommuConfig iommu;
  RootComplexConfig root_complex;
  std::optional<PcieSwitchConfig> pcie_switch;
  std::vector<GpuConfig> gpus;
  void describe(Fields& fields);
};

}  // namespace rnicsim
