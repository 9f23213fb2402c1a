// SPDX-License-Identifier: MIT
// Where a host's CPU time goes: by plane (setting up: control; moving data: data) and by category,
// in time and in cycles, over all its cores; and the payload bytes that a CPU copied.
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
};
inline constexpr unsigned kCpuCategories = 10;

class CpuUsage {
 public:
  void add(CpuPlane plane, CpuCategory category, Time time, Cycles cycles) {
    Entry& entry = entries_[static_cast<unsigned>(plane)][static_cast<unsigned>(category)];
    entry.time += time;
    entry.cycles += cycles;
  }
  void add_copy(Bytes bytes) {
    ++copies_;
    copied_ += bytes;
  }

  Time time(CpuPlane plane, CpuCategory category) const { return at(plane, category).time; }
  Cycles cycles(CpuPlane plane, CpuCategory category) const { return at(plane, category).cycles; }
  Time busy(CpuPlane plane) const;

  /// Under `scope` (".cpu"): <plane>.busy, <plane>.<category>, <plane>.<category>.cycles, copies,
  /// copied_bytes.
  void report(const MetricScope& scope) const;

 private:
  struct Entry {
    Time time;
    Cycles cycles;
  };
  const Entry& at(CpuPlane plane, CpuCategory category) const {
    return entries_[static_cast<unsigned>(plane)][static_cast<unsigned>(category)];
  }
  std::array<std::array<Entry, kCpuCategories>, kCpuPlanes> entries_{};
  std::uint64_t copies_ = 0;
  Bytes copied_;
};

}  // namespace rnicsim
