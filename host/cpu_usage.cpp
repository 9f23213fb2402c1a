// SPDX-License-Identifier: MIT
#include "host/cpu_usage.h"

#include <string>

namespace rnicsim {

namespace {

struct Category {
  const char* name;
  const char* text;
};
constexpr Category kCategories[kCpuCategories] = {
    {"application", "CPU time in the application's own code"},
    {"syscall", "CPU time in system calls and driver commands"},
    {"pinning", "CPU time pinning and unpinning pages of memory regions"},
    {"table_building", "CPU time building translation tables and key entries"},
    {"posting", "CPU time building work queue entries"},
    {"doorbell", "CPU time ringing doorbells (MMIO stores)"},
    {"polling", "CPU time polling completion queues, command entries and flags"},
    {"copying", "CPU time copying payload"},
    {"interrupt", "CPU time in interrupt handlers"},
    {"protocol", "CPU time in protocol processing"},
    {"softirq", "CPU time in softirq: polling rings, taking frames, merging them, timers"},
    {"socket_buffers", "CPU time allocating and freeing socket buffers and their pages"},
    {"checksum", "CPU time computing checksums"},
    {"scheduling", "CPU time waking programs and switching to them"},
};
constexpr unsigned kFirstOfKernel = static_cast<unsigned>(CpuCategory::kSoftirq);
constexpr const char* kPlanes[kCpuPlanes] = {"control", "data"};

}  // namespace

Time CpuUsage::busy(CpuPlane plane) const {
  Time sum;
  for (const Entry& entry : entries_[static_cast<unsigned>(plane)]) sum += entry.time;
  return sum;
}

bool CpuUsage::ran_kernel() const {
  for (const auto& plane : entries_)
    for (unsigned c = kFirstOfKernel; c < kCpuCategories; ++c)
      if (plane[c].cycles != Cycles()) return true;
  return false;
}

void CpuUsage::report(const MetricScope& scope) const {
  const bool kernel = ran_kernel();
  const bool calls = kernel || system_calls(CpuPlane::kData) != 0;
  for (unsigned p = 0; p < kCpuPlanes; ++p) {
    const MetricScope plane = scope.child(kPlanes[p]);
    plane.time("busy", busy(static_cast<CpuPlane>(p)), "CPU time of this plane, all cores");
    for (unsigned c = 0; c < (kernel ? kCpuCategories : kFirstOfKernel); ++c) {
      const Category& category = kCategories[c];
      plane.time(category.name, entries_[p][c].time, category.text);
      plane.child(category.name).cycles("cycles", entries_[p][c].cycles, category.text);
    }
    if (p == static_cast<unsigned>(CpuPlane::kControl) && copies_[p] != 0) {
      plane.count("copies", copies_[p], "times a CPU copied messages of the control plane");
      plane.bytes("copied_bytes", copied_[p], "bytes of these");
    }
    if (!calls) continue;
    plane.count("system_calls", system_calls_[p],
                "system calls on sockets, on event channels and of the RDMA driver");
    plane.count("context_switches", context_switches_[p], "times a program slept and came back");
  }
  scope.count("copies", copies(), "times a CPU copied payload");
  scope.bytes("copied_bytes", copied(), "payload bytes that a CPU copied");
}

}  // namespace rnicsim
