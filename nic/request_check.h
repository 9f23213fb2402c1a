// SPDX-License-Identifier: MIT
// Checks of a request packet against its queue pair and context, as the responder makes them before
// it looks anything up: whether the state takes requests, opcode sequence (IBTA 9.7.4.1.3), lengths
// (9.7.4.1.6), responder resources (9.7.4.1.5), which right the opcode needs. Functions without
// state: they decide nothing and change nothing; what follows is the request judge's matter.
// Ignores: PSNs and keys, which nic/request_judge looks at.
#pragma once

#include "model/nic_abi.h"
#include "model/opcode.h"
#include "model/packet.h"
#include "nic/queue_pair.h"

namespace rnicsim {

/// Bytes that stand before a datagram in its receive.
inline constexpr std::uint32_t kGrhBytes = 40;

/// States in which requests are taken (IBTA 10.3.1; draining and SQE concern the send queue only).
constexpr bool receives(QpState state) {
  return state == QpState::kRtr || state == QpState::kRts || state == QpState::kSqd ||
         state == QpState::kSqe;
}

constexpr bool is_read(Opcode opcode) { return opcode == Opcode::kReadRequest; }

/// Opcodes that are a whole message or begin one.
inline bool begins(Opcode opcode) {
  return starts_message(opcode) || is_read(opcode) || is_atomic(opcode);
}

/// Whether the packet takes a receive from the receive queue.
inline bool needs_receive(Opcode opcode) {
  return is_send(opcode) ? starts_message(opcode) : has_immediate(opcode);
}

WireTransport wire_transport(Transport transport);

/// The right that the key of a request needs (AccessFlags).
std::uint8_t right_for(Opcode opcode);

/// PSNs that a READ request takes: those of its responses.
std::uint32_t read_span(const Packet& packet, std::uint32_t mtu);

/// Reserved opcodes, opcode sequence and lengths (IBTA 9.7.4.1.3, 9.7.4.1.4, 9.7.4.1.6).
bool well_formed(const Packet& packet, const NicQueuePair& qp, const abi::QpContext& context);

/// Room among the READs and atomics that may be owed at once. Answers that are owed `again` have
/// resources of their own: whoever asks anew has had the first ones.
bool has_resources(const Packet& packet, const NicQueuePair& qp, const abi::QpContext& context,
                   bool again);

}  // namespace rnicsim
