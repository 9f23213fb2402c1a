// SPDX-License-Identifier: MIT
// Makes request packets of WQEs (IBTA 9.4): opcode by place in the message, headers, inline data.
// Takes no time, which is the requester's pipelines', and keeps nothing: PSN, place in the message
// and whether an acknowledgement is asked for are its caller's.
#pragma once

#include <cstdint>

#include "nic/nic_port.h"
#include "nic/queue_pair.h"

namespace rnicsim {

/// WRITEs and SENDs: packets with payload.
bool sends_data(abi::WqeOpcode opcode);

class RequestBuilder {
 public:
  /// `elided`: payload bytes are accounted, not moved.
  RequestBuilder(NicPort& port, bool elided) : port_(port), elided_(elided) {}

  /// The packet of a WRITE or SEND with the `length` bytes from `offset` on, without them.
  PacketRef data(const NicQueuePair& qp, const abi::QpContext& context, const SendWqe& wqe, Psn psn,
                 std::uint64_t offset, std::uint32_t length);
  /// Asks for `length` bytes of a READ from `offset` on, or for an atomic.
  PacketRef request(const abi::QpContext& context, const SendWqe& wqe, Psn psn,
                    std::uint64_t offset, std::uint64_t length);
  /// Payload that is in the WQE itself, from qp.offset on.
  void copy_inline(const NicQueuePair& qp, const SendWqe& wqe, Packet& packet) const;
  /// The same, from `offset` on, of a WQE that was read again.
  void copy_inline_again(const Repeats& repeats, std::uint64_t offset, Packet& packet) const;

 private:
  NicPort& port_;
  bool elided_;
};

}  // namespace rnicsim
