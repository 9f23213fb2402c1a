// SPDX-License-Identifier: MIT
// A TCP segment as softirq has it on its way from the receive ring to its connection: headers, and
// the buffers that its payload stands in. It may be several frames of the wire, merged by the NIC
// (LRO) or by softirq (GRO).
#pragma once

#include <cstdint>

#include "host/kernel/frame_bytes.h"
#include "host/kernel/kernel_buffers.h"
#include "model/tcp_segmentation.h"

namespace rnicsim {

struct ReceivedSegment {
  abi::MacAddress source_mac{};
  abi::Ipv4Address source;
  TcpMerged tcp;
  KernelBufferList buffers;

  bool same_flow(const ReceivedSegment& other) const {
    return source == other.source && tcp.header.source_port == other.tcp.header.source_port &&
           tcp.header.destination_port == other.tcp.header.destination_port;
  }
  /// Without data and without a place in the stream.
  bool is_acknowledgement() const {
    return tcp.length == 0 && !tcp.header.syn && !tcp.header.fin && !tcp.header.rst;
  }
};

}  // namespace rnicsim
