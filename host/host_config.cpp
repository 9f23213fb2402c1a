// SPDX-License-Identifier: MIT
#include "host/host_config.h"

#include "model/config_reader.h"

namespace rnicsim {

PageSize HostMemoryConfig::buffer_pages() const {
  for (const PageSize size : {PageSize::k2MiB, PageSize::k1GiB})
    if (bytes_of(size) == page_size) return size;
  return PageSize::k4KiB;
}

void HostMemoryConfig::describe(Fields& f) {
  MemoryConfig::describe(f);
  f.field("page_size", page_size,
          one_of(bytes_of(PageSize::k4KiB), bytes_of(PageSize::k2MiB), bytes_of(PageSize::k1GiB)),
          "pages of the applications' buffers");
}

void HostConfig::describe(Fields& f) {
  f.object("memory", memory, "RAM");
  f.object("cpu", cpu, "cores");
  f.object("interrupt", interrupt, "interrupts and sleeping programs");
  f.object("driver", driver, "kernel driver of the NIC");
  f.object("verbs", verbs, "user-space verbs library");
  f.object("kernel", kernel, "the kernel's network path: offloads, rings, costs");
  f.object("tcp", tcp, "how the kernel's TCP behaves");
  f.object("pcie", pcie, "link between NIC and root complex or switch");
  f.object("iommu", iommu, "translation of DMA addresses in the root complex");
  f.object("root_complex", root_complex, "requests from one root port to another");
  f.optional("pcie_switch", pcie_switch, "a PCIe switch between the root complex and devices");
  f.list("gpus", gpus, ListLimits{0, 16, "gpu"},
         "GPUs whose memory NICs reach; \"gpu0\" is the first");
}

}  // namespace rnicsim
