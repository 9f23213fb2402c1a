// SPDX-License-Identifier: MIT
// Generic receive offload: makes frames of one flow that follow each other one segment, so that the
// stack handles fewer. Keeps some flows at a time, until a segment cannot go on or the round of
// polling ends; what it lets go keeps the order of each flow.
//
// Rules of merging: model/tcp_segmentation; up to 64 KiB with headers. Segments that the NIC has
// merged pass by, as do those without data.
#pragma once

#include <array>
#include <cstddef>

#include "host/kernel/received_segment.h"
#include "model/ring.h"

namespace rnicsim {

class SegmentMerger {
 public:
  static constexpr std::size_t kFlows = 8;
  static constexpr std::uint32_t kLargest = 65535;  ///< IPv4's

  /// Takes a segment; whatever can wait no longer goes to `out`.
  void add(ReceivedSegment& segment, Ring<ReceivedSegment>& out);
  void flush(Ring<ReceivedSegment>& out);
  bool empty() const { return held_ == 0; }

 private:
  void let_go(std::size_t index, Ring<ReceivedSegment>& out);
  std::array<ReceivedSegment, kFlows> flows_;  ///< the first `held_`, oldest first
  std::size_t held_ = 0;
};

}  // namespace rnicsim
