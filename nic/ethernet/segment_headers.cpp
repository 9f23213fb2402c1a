// SPDX-License-Identifier: MIT
#include "nic/ethernet/segment_headers.h"

#include "model/byte_order.h"
#include "model/tcp_checksum.h"

namespace rnicsim {

namespace {
constexpr std::uint8_t kIpv4NoOptions = 0x45;
}

void SegmentHeaders::write(std::uint8_t* at) const {
  eth.write(at);
  ip.write(at + EthernetHeader::kBytes);
  tcp.write(at + EthernetHeader::kBytes + Ipv4Header::kBytes, checksum);
}

bool SegmentHeaders::read(const std::uint8_t* at, std::size_t size, SegmentHeaders& headers) {
  if (size < kMinBytes) return false;
  headers.eth = EthernetHeader::read(at);
  at += EthernetHeader::kBytes;
  if (headers.eth.ether_type != kEtherTypeIpv4 || at[0] != kIpv4NoOptions) return false;
  headers.ip = Ipv4Header::read(at);
  if (headers.ip.protocol != kIpProtocolTcp) return false;
  at += Ipv4Header::kBytes;
  const std::size_t left = size - EthernetHeader::kBytes - Ipv4Header::kBytes;
  if (static_cast<std::size_t>(at[12] >> 4) * 4 != left) return false;
  headers.checksum = load_be16(at + TcpHeader::kChecksumOffset);
  // What would come out with other options than the model's has another length.
  return TcpHeader::read(at, left, headers.tcp) == nullptr && headers.tcp.bytes() == left;
}

SegmentHeaders SegmentHeaders::of(const Packet& packet) {
  SegmentHeaders headers;
  headers.eth = packet.eth;
  headers.eth.ether_type = kEtherTypeIpv4;
  headers.ip = packet.ipv4;
  headers.ip.total_length = static_cast<std::uint16_t>(packet.ip_bytes().count());
  headers.tcp = packet.tcp();
  headers.checksum = tcp_checksum_on_wire(packet);
  return headers;
}

}  // namespace rnicsim
