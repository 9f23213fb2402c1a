// SPDX-License-Identifier: MIT
// What a burst of TCP becomes on the wire, and back: the headers of the segments into which a large
// one is cut (TSO, in the NIC; GSO, in the stack), and which segments may be one again (LRO, GRO).
// Headers only: whoever has the bytes cuts them.
//
// As Linux does it: a slice has the burst's header with its own sequence number; FIN and PSH stand
// on the last slice only, CWR on the first only. Merged are segments that follow each other in
// sequence with the same ports, acknowledgement, flags but PSH and FIN, options and ECN field, as
// long as all but the last are of one length.
#pragma once

#include <cstdint>

#include "model/headers.h"
#include "model/tcp_header.h"

namespace rnicsim {

/// The header of the slice that begins `offset` bytes into a burst.
TcpHeader tcp_slice(const TcpHeader& burst, std::uint32_t offset, bool is_last);

/// A segment, or some that have been merged.
struct TcpMerged {
  TcpHeader header;
  Ecn ecn = Ecn::kNotCapable;
  std::uint32_t length = 0;        ///< of payload
  std::uint32_t segment_size = 0;  ///< payload of the first
  std::uint32_t segments = 1;

  /// Whether a segment behind it can become a part; only what carries data can.
  bool takes(const TcpHeader& next, Ecn next_ecn, std::uint32_t next_length) const;
  /// REQUIRES: takes(...).
  void append(const TcpHeader& next, std::uint32_t next_length);
  /// Nothing can follow: a flag says so, or a segment was short.
  bool is_complete() const { return header.psh || header.fin || length % segment_size != 0; }
};

}  // namespace rnicsim
