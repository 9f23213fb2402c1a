// SPDX-License-Identifier: MIT
#include "model/packet.h"

#include "model/byte_order.h"
#include "model/icrc.h"

namespace rnicsim {

void Packet::allocate_payload() { payload_ = std::make_unique<std::uint8_t[]>(kMaxPayloadBytes); }

std::size_t Packet::write_headers(std::uint8_t* at) const {
  const auto total_length = static_cast<std::uint16_t>(ip_bytes().count());
  Ipv4Header ip = ipv4;
  ip.total_length = total_length;
  ip.write(at);
  std::uint8_t* next = at + Ipv4Header::kBytes;
  UdpHeader datagram = udp;
  datagram.length = static_cast<std::uint16_t>(total_length - Ipv4Header::kBytes);
  datagram.write(next);
  next += UdpHeader::kBytes;
  bth.write(next);
  next += Bth::kBytes;
  if (has_reth(bth.opcode)) {
    reth.write(next);
    next += Reth::kBytes;
  }
  if (has_aeth(bth.opcode)) {
    aeth.write(next);
    next += Aeth::kBytes;
  }
  if (has_immediate(bth.opcode)) {
    immdt.write(next);
    next += ImmDt::kBytes;
  }
  return static_cast<std::size_t>(next - at);
}

void Packet::encode(std::vector<std::uint8_t>& frame) const {
  frame.assign((frame_bytes() - kFcsBytes).count(), 0);
  eth.write(frame.data());
  std::uint8_t* next = frame.data() + EthernetHeader::kBytes;
  next += write_headers(next);
  if (!payload_elided && payload_ != nullptr)
    std::copy_n(payload_.get(), payload_length.count(), next);
  next += payload_length.count() + bth.pad_count;
  store_le32(next, payload_elided ? compute_icrc(*this) ^ icrc : icrc);
}

const PacketFields PacketPool::kFresh{};

void PacketPool::grow() {
  chunks_.push_back(std::make_unique<Packet[]>(kChunkPackets));
  Packet* const packets = chunks_.back().get();
  for (std::size_t i = kChunkPackets; i-- > 0;) {
    packets[i].pool_ = this;
    packets[i].next_free_ = free_;
    free_ = &packets[i];
  }
}

}  // namespace rnicsim
