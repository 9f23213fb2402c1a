// SPDX-License-Identifier: MIT
#include "host/kernel/segment_merger.h"

#include <algorithm>

namespace rnicsim {

void SegmentMerger::add(ReceivedSegment& segment, Ring<ReceivedSegment>& out) {
  TcpMerged& next = segment.tcp;
  for (std::size_t i = 0; i < held_; ++i) {
    ReceivedSegment& held = flows_[i];
    if (!held.same_flow(segment)) continue;
    const std::size_t headers = Ipv4Header::kBytes + held.tcp.header.bytes();
    const bool fits = held.tcp.length + next.length + headers <= kLargest;
    if (next.segments == 1 && fits && held.tcp.takes(next.header, next.ecn, next.length)) {
      held.tcp.append(next.header, next.length);
      held.buffers.append(segment.buffers);
      if (held.tcp.is_complete()) let_go(i, out);
      return;
    }
    let_go(i, out);
    break;
  }
  const bool goes_on = next.length != 0 && next.segments == 1 && !next.header.syn &&
                       !next.header.rst && next.header.sack_blocks == 0 && !next.is_complete();
  if (!goes_on) {
    out.push(segment);
    return;
  }
  if (held_ == kFlows) let_go(0, out);
  flows_[held_++] = segment;
}

void SegmentMerger::flush(Ring<ReceivedSegment>& out) {
  for (std::size_t i = 0; i < held_; ++i) out.push(flows_[i]);
  held_ = 0;
}

void SegmentMerger::let_go(std::size_t index, Ring<ReceivedSegment>& out) {
  out.push(flows_[index]);
  std::move(flows_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
            flows_.begin() + static_cast<std::ptrdiff_t>(held_),
            flows_.begin() + static_cast<std::ptrdiff_t>(index));
  --held_;
}

}  // namespace rnicsim
