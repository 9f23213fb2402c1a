// SPDX-License-Identifier: MIT
#include "nic/request_check.h"

#include <algorithm>

#include "nic/atomic_unit.h"

namespace rnicsim {

namespace {

constexpr std::uint64_t kMaxMessageBytes = 1ULL << 31;  // IBTA 9.7.2

bool length_fits(const Packet& packet, const NicQueuePair& qp, std::uint32_t mtu) {
  const std::uint64_t length = packet.payload_length.count();
  const bool ends = ends_message(packet.bth.opcode);
  if (is_send(packet.bth.opcode)) return ends ? length <= mtu : length == mtu;
  const std::uint64_t left =
      starts_message(packet.bth.opcode) ? packet.reth.dma_length : qp.receive_left;
  return ends ? length == left && length <= mtu : length == mtu && length < left;
}

}  // namespace

WireTransport wire_transport(Transport transport) {
  switch (transport) {
    case Transport::kRc:
      return WireTransport::kRc;
    case Transport::kUc:
      return WireTransport::kUc;
    case Transport::kUd:
      break;
  }
  return WireTransport::kUd;
}

std::uint8_t right_for(Opcode opcode) {
  if (is_read(opcode)) return AccessFlags::kRemoteRead;
  return is_atomic(opcode) ? AccessFlags::kRemoteAtomic : AccessFlags::kRemoteWrite;
}

std::uint32_t read_span(const Packet& packet, std::uint32_t mtu) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(divide_up(std::uint64_t{packet.reth.dma_length}, mtu), 1));
}

bool well_formed(const Packet& packet, const NicQueuePair& qp, const abi::QpContext& context) {
  const Opcode opcode = packet.bth.opcode;
  if (!is_request(opcode) || begins(opcode) == qp.receiving) return false;
  if (!begins(opcode) && is_send(opcode) != qp.receiving_send) return false;
  if (needs_receive(opcode) && context.srqn == 0 &&
      (context.flags & abi::QpContext::kHasReceiveQueue) == 0)
    return false;
  if (is_atomic(opcode)) return packet.reth.virtual_address.value() % AtomicUnit::kBytes == 0;
  if (is_read(opcode)) return packet.reth.dma_length <= kMaxMessageBytes;
  return length_fits(packet, qp, context.path_mtu());
}

bool has_resources(const Packet& packet, const NicQueuePair& qp, const abi::QpContext& context,
                   bool again) {
  if (!is_read(packet.bth.opcode) && !is_atomic(packet.bth.opcode)) return true;
  std::size_t owed = 0;
  for (std::size_t i = 0; i < qp.owed.size(); ++i)
    if (qp.owed.at(i).kind != OwedResponse::Kind::kAcknowledge && qp.owed.at(i).again == again)
      ++owed;
  return owed < context.max_dest_rd_atomic;
}

}  // namespace rnicsim
