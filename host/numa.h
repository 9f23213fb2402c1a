// SPDX-License-Identifier: MIT
// Which node memory is on, which one the devices are on, and the way between: a latency each way
// and a bandwidth each direction.
//
// Connects to: Memory. Models: all memory on one node, or pages of 4 KiB over all nodes in turn.
// Approximates: every other node is one hop away. Ignores: where programs run (their own loads and
// stores are part of their cycles), the coherence traffic of other sockets on the same link.
#pragma once

#include <cstdint>

#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

enum class NumaPlacement : std::uint8_t { kOneNode, kInterleaved };

struct NumaConfig {
  std::uint32_t nodes = 1;
  std::uint32_t device_node = 0;
  NumaPlacement placement = NumaPlacement::kOneNode;
  std::uint32_t memory_node = 0;
  Time hop_latency = Time::ns(53);
  BitRate hop_bandwidth = BitRate::gbps(307);
  void describe(Fields& fields);
};

class Numa {
 public:
  explicit Numa(const NumaConfig& config);

  std::uint32_t node_of(PhysicalAddress address) const {
    if (config_.placement == NumaPlacement::kOneNode) return config_.memory_node;
    return static_cast<std::uint32_t>(address.value() / kPageBytes % config_.nodes);
  }
  bool is_remote(std::uint32_t node) const { return node != config_.device_node; }
  Time hop_latency() const { return config_.hop_latency; }

  struct Crossing {
    Time first;
    Time last;
  };
  /// Bytes that are at one end from `first` on and all there at `last`: when they are at the other.
  Crossing to_device(Time first, Time last, Bytes bytes) {
    crossed_to_device_ += bytes;
    return cross(to_device_, first, last, bytes);
  }
  Crossing to_memory(Time first, Bytes bytes) {
    crossed_to_memory_ += bytes;
    return cross(to_memory_, first, first, bytes);
  }
  void report(const MetricScope& scope) const;

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  Crossing cross(Serialiser& link, Time first, Time last, Bytes bytes);

  NumaConfig config_;
  Serialiser to_device_;
  Serialiser to_memory_;
  Bytes crossed_to_device_;
  Bytes crossed_to_memory_;
  Time waited_;
};

}  // namespace rnicsim
