// SPDX-License-Identifier: MIT
#include "model/tcp_segmentation.h"

namespace rnicsim {

TcpHeader tcp_slice(const TcpHeader& burst, std::uint32_t offset, bool is_last) {
  TcpHeader slice = burst;
  slice.sequence = burst.sequence + offset;
  slice.fin = burst.fin && is_last;
  slice.psh = burst.psh && is_last;
  slice.cwr = burst.cwr && offset == 0;
  return slice;
}

bool TcpMerged::takes(const TcpHeader& next, Ecn next_ecn, std::uint32_t next_length) const {
  if (length == 0 || next_length == 0 || next_length > segment_size || is_complete()) return false;
  const bool plain = !header.syn && !header.rst && !next.syn && !next.rst && !next.cwr &&
                     header.sack_blocks == 0 && next.sack_blocks == 0;
  const bool same_flow =
      next.source_port == header.source_port && next.destination_port == header.destination_port;
  return plain && same_flow && next.sequence == header.sequence + length && next_ecn == ecn &&
         next.ack == header.ack && next.acknowledgement == header.acknowledgement &&
         next.ece == header.ece && next.window == header.window &&
         next.has_timestamps == header.has_timestamps && next.timestamp == header.timestamp &&
         next.timestamp_echo == header.timestamp_echo;
}

void TcpMerged::append(const TcpHeader& next, std::uint32_t next_length) {
  header.psh = next.psh;
  header.fin = next.fin;
  length += next_length;
  ++segments;
}

}  // namespace rnicsim
