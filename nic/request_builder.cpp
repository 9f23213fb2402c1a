// SPDX-License-Identifier: MIT
#include "nic/request_builder.h"

#include <algorithm>

namespace rnicsim {

namespace {

constexpr std::uint32_t kPrefetchMask = NicQueuePair::kPrefetchBlocks * abi::kWqeBlockBytes - 1;

/// First, middle, last or only packet of a WRITE or SEND.
Opcode data_opcode(abi::WqeOpcode wqe, bool first, bool last) {
  using abi::WqeOpcode;
  const bool write = wqe == WqeOpcode::kRdmaWrite || wqe == WqeOpcode::kRdmaWriteImm;
  if (!last) {
    if (write) return first ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
    return first ? Opcode::kSendFirst : Opcode::kSendMiddle;
  }
  switch (wqe) {
    case WqeOpcode::kRdmaWriteImm:
      return first ? Opcode::kWriteOnlyImm : Opcode::kWriteLastImm;
    case WqeOpcode::kSend:
      return first ? Opcode::kSendOnly : Opcode::kSendLast;
    case WqeOpcode::kSendImm:
      return first ? Opcode::kSendOnlyImm : Opcode::kSendLastImm;
    case WqeOpcode::kSendInvalidate:
      return first ? Opcode::kSendOnlyInvalidate : Opcode::kSendLastInvalidate;
    default:
      return first ? Opcode::kWriteOnly : Opcode::kWriteLast;
  }
}

}  // namespace

bool sends_data(abi::WqeOpcode opcode) {
  using abi::WqeOpcode;
  return opcode == WqeOpcode::kRdmaWrite || opcode == WqeOpcode::kRdmaWriteImm ||
         opcode == WqeOpcode::kSend || opcode == WqeOpcode::kSendImm ||
         opcode == WqeOpcode::kSendInvalidate;
}

PacketRef RequestBuilder::data(const NicQueuePair& qp, const abi::QpContext& context,
                               const SendWqe& wqe, Psn psn, std::uint64_t offset,
                               std::uint32_t length) {
  const bool first = offset == 0;
  const bool last = offset + length == wqe.length;
  const Opcode opcode = data_opcode(wqe.opcode, first, last);
  PacketRef packet = context.transport == Transport::kUd
                         ? port_.make_datagram(context, wqe.datagram, qp.qpn, opcode)
                         : port_.make(context, opcode, psn);
  packet->bth.psn = psn;
  packet->work_request = wqe.id;
  packet->payload_elided = elided_;
  packet->set_payload_length(Bytes(length));
  packet->bth.solicited_event = last && wqe.solicited;
  if (has_reth(opcode)) {
    packet->reth.virtual_address = wqe.remote.address;
    packet->reth.r_key = wqe.remote.rkey;
    packet->reth.dma_length = static_cast<std::uint32_t>(wqe.length);
  }
  if (has_immediate(opcode)) packet->immdt.immediate = wqe.immediate;
  if (has_ieth(opcode)) packet->ieth.r_key = MemoryKey(wqe.immediate);
  return packet;
}

PacketRef RequestBuilder::request(const abi::QpContext& context, const SendWqe& wqe, Psn psn,
                                  std::uint64_t offset, std::uint64_t length) {
  const bool read = is_read(wqe.opcode);
  const Opcode opcode = read                                               ? Opcode::kReadRequest
                        : wqe.opcode == abi::WqeOpcode::kAtomicCompareSwap ? Opcode::kCompareSwap
                                                                           : Opcode::kFetchAdd;
  PacketRef packet = port_.make(context, opcode, psn);
  packet->work_request = wqe.id;
  packet->bth.ack_req = true;
  if (read) {
    packet->reth.virtual_address = VirtualAddress(wqe.remote.address.value() + offset);
    packet->reth.r_key = wqe.remote.rkey;
    packet->reth.dma_length = static_cast<std::uint32_t>(length);
  } else {
    packet->set_atomic_eth(
        {wqe.remote.address, wqe.remote.rkey, wqe.atomic.swap_or_add, wqe.atomic.compare});
  }
  return packet;
}

void RequestBuilder::copy_inline(const NicQueuePair& qp, const SendWqe& wqe, Packet& packet) const {
  if (elided_) return;
  const std::uint64_t start =
      std::uint64_t{wqe.block} * abi::kWqeBlockBytes + wqe.inline_at + qp.offset;
  std::uint8_t* to = packet.payload();
  for (std::uint64_t i = 0; i < packet.payload_length.count(); ++i)
    to[i] = qp.prefetch[(start + i) & kPrefetchMask];
}

void RequestBuilder::copy_inline_again(const Repeats& repeats, std::uint64_t offset,
                                       Packet& packet) const {
  if (elided_) return;
  std::copy_n(repeats.bytes.data() + repeats.wqe.inline_at + offset, packet.payload_length.count(),
              packet.payload());
}

}  // namespace rnicsim
