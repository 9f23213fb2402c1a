// SPDX-License-Identifier: MIT
// What resource a metric speaks of, for the sentences that name what limited a workload.
#pragma once

#include <cstdint>
#include <string>

namespace rnicsim {

enum class ResourceKind : std::uint8_t {
  kWire,         ///< out of `host`, which may be a port of a switch
  kPausesTaken,  ///< that the host was told to make
  kPausesAsked,  ///< that the host asked for
  kPcieUp,       ///< from NIC to memory
  kPcieDown,
  kMemory,
  kNumaLink,
  kPageFaults,
  kIommu,
  kCore,
  kSwitchUp,  ///< upstream link of the PCIe switch, towards the memory
  kSwitchDown,
  kPeerWrites,  ///< root complex, from port to port
  kPeerReads,
  kGpuIn,  ///< PCIe to `block`
  kGpuOut,
  kBarWrites,
  kBarReads,
  kWalks,  ///< of the translation table
  kLocks,  ///< atomics on one address
  kTags,   ///< PCIe reads
  kWriteWindow,
  kCopyEngine,  ///< of `block`
  kBlock,       ///< any other `block`
};

struct Resource {
  ResourceKind kind = ResourceKind::kBlock;
  std::string host;
  std::string block;  ///< in words, where the kind does not say it all
};

/// `path`: of a metric of a host or of the fabric.
Resource resource_of(const std::string& path);
/// In words: "PCIe from the NIC of A to its memory".
std::string words_of(const std::string& path);

}  // namespace rnicsim
