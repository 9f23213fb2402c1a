// SPDX-License-Identifier: MIT
#include "host/numa.h"

#include <algorithm>

namespace rnicsim {

void NumaConfig::describe(Fields& fields) {
  fields.field("nodes", nodes, range(1, 64), "sockets with memory of their own");
  fields.field("device_node", device_node, range(0, 63), "the node whose root ports the NICs have");
  fields.choice(
      "placement", placement,
      {{"one_node", NumaPlacement::kOneNode}, {"interleaved", NumaPlacement::kInterleaved}},
      "where memory comes from: all from memory_node, or pages of all nodes in turn");
  fields.field("memory_node", memory_node, range(0, 63), "that node");
  fields.field("hop_latency", hop_latency, range(Time(), Time::us(100)),
               "from one node to another, one way; a DMA read pays it twice");
  fields.field("hop_bandwidth", hop_bandwidth, range(BitRate::gbps(1), BitRate::gbps(100000)),
               "between the devices' node and the others, each direction");
  fields.check(device_node < nodes, "device_node", "must be below nodes");
  fields.check(memory_node < nodes, "memory_node", "must be below nodes");
}

Numa::Numa(const NumaConfig& config)
    : config_(config), to_device_(config.hop_bandwidth), to_memory_(config.hop_bandwidth) {}

Numa::Crossing Numa::cross(Serialiser& link, Time first, Time last, Bytes bytes) {
  const Time start = std::max(first, link.free_at());
  const Time end = link.send(first, bytes);
  waited_ += start - first;
  return {start + config_.hop_latency, std::max(last, end) + config_.hop_latency};
}

void Numa::report(const MetricScope& scope) const {
  scope.bytes("crossed", crossed_to_device_ + crossed_to_memory_,
              "bytes of DMA between the devices' node and others");
  scope.time("to_device.busy", to_device_.byte_time().of(crossed_to_device_),
             "time that the way between nodes carried what devices read");
  scope.time("to_memory.busy", to_memory_.byte_time().of(crossed_to_memory_),
             "time that the way between nodes carried what devices write");
  scope.time("stalled.bandwidth", waited_, "time that requests waited for the way between nodes");
}

}  // namespace rnicsim
