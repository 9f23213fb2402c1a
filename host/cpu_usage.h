// SPDX-License-Identifier: MIT
// Where a host's CPU time goes: by plane (setting up: control; moving data: data) and by category,
// in time and in cycles, over all its cores; the payload bytes that a CPU copied; system calls and
// context switches.
#pragma once

#include <array>
#include <cstdint>

#include "model/metrics.h"
#include "model/units.h"

namespace rnicsim {

enum class CpuPlane : std::uint8_t { kControl, kData };
inline constexpr unsigned kCpuPlanes = 2;

enum class CpuCategory : std::uint8_t {
  kApplication,
  kSyscall,
  kPinning,
  kTableBuilding,
  kPosting,
  kDoorbell,
  kPolling,
  kCopying,
  kInterrupt,
  kProtocol,
  // Of the kernel's network path only; scheduling of event channels too.
  kSoftirq,
  kSocketBuffers,
  kChecksum,
  kScheduling,
};
inline constexpr unsigned kCpuCategories = 14;

class CpuUsage {
 public:
  void add(CpuPlane plane, CpuCategory category, Time time, Cycles cycles) {
    Entry& entry = entries_[static_cast<unsigned>(plane)][static_cast<unsigned>(category)];
    entry.time += time;
    entry.cycles += cycles;
  }
  /// Of messages; those of the control plane are no payload.
  void add_copy(Bytes bytes, CpuPlane plane = CpuPlane::kData) {
    ++copies_[static_cast<unsigned>(plane)];
    copied_[static_cast<unsigned>(plane)] += bytes;
  }
  void add_system_call(CpuPlane plane) { ++system_calls_[static_cast<unsigned>(plane)]; }
  void add_context_switch(CpuPlane plane) { ++context_switches_[static_cast<unsigned>(plane)]; }

  Time time(CpuPlane plane, CpuCategory category) const { return at(plane, category).time; }
  Cycles cycles(CpuPlane plane, CpuCategory category) const { return at(plane, category).cycles; }
  Time busy(CpuPlane plane) const;
  std::uint64_t copies(CpuPlane plane = CpuPlane::kData) const {
    return copies_[static_cast<unsigned>(plane)];
  }
  Bytes copied(CpuPlane plane = CpuPlane::kData) const {
    return copied_[static_cast<unsigned>(plane)];
  }
  std::uint64_t system_calls(CpuPlane plane) const {
    return system_calls_[static_cast<unsigned>(plane)];
  }
  std::uint64_t context_switches(CpuPlane plane) const {
    return context_switches_[static_cast<unsigned>(plane)];
  }

  /// Under `scope` (".cpu"): <plane>.busy, <plane>.<category>, <plane>.<category>.cycles, copies,
  /// copied_bytes; if the kernel's network path or its scheduler ran, its categories; if so, or if
  /// programs asked it for events, <plane>.system_calls and <plane>.context_switches. Calls of the
  /// RDMA driver are counted always, but alone they are not reported.
  void report(const MetricScope& scope) const;

 private:
  struct Entry {
    Time time;
    Cycles cycles;
  };
  bool ran_kernel() const;
  const Entry& at(CpuPlane plane, CpuCategory category) const {
    return entries_[static_cast<unsigned>(plane)][static_cast<unsigned>(category)];
  }
  std::array<std::array<Entry, kCpuCategories>, kCpuPlanes> entries_{};
  std::array<std::uint64_t, kCpuPlanes> copies_{};
  std::array<Bytes, kCpuPlanes> copied_{};
  std::array<std::uint64_t, kCpuPlanes> system_calls_{};
  std::array<std::uint64_t, kCpuPlanes> context_switches_{};
};

}  // namespace rnicsim
