// SPDX-License-Identifier: MIT
#include "host/kernel/frame_bytes.h"

#include <algorithm>

#include "model/byte_order.h"
#include "model/tcp_checksum.h"

namespace rnicsim {

void FrameHeaders::write(Image& at, std::uint16_t checksum) const {
  eth.write(at.data());
  Ipv4Header ip = ipv4;
  ip.protocol = kIpProtocolTcp;
  ip.total_length = static_cast<std::uint16_t>(Ipv4Header::kBytes + tcp.bytes() + payload);
  ip.write(at.data() + EthernetHeader::kBytes);
  tcp.write(at.data() + EthernetHeader::kBytes + Ipv4Header::kBytes, checksum);
}

const char* FrameHeaders::read(const std::uint8_t* at, std::size_t size, std::size_t frame,
                               FrameHeaders& headers) {
  constexpr std::size_t kBeforeTcp = EthernetHeader::kBytes + Ipv4Header::kBytes;
  if (size < kBeforeTcp + TcpHeader::kBytes) return "too short";
  headers.eth = EthernetHeader::read(at);
  const std::uint8_t* const ip = at + EthernetHeader::kBytes;
  if (headers.eth.ether_type != kEtherTypeIpv4 || ip[0] != 0x45) return "not plain IPv4";
  if (!ipv4_checksum_ok(ip)) return "wrong IPv4 checksum";
  headers.ipv4 = Ipv4Header::read(ip);
  if (headers.ipv4.protocol != kIpProtocolTcp) return "not TCP";
  const std::size_t total = headers.ipv4.total_length;
  if (total + EthernetHeader::kBytes > frame) return "longer than its frame";
  const char* const problem =
      TcpHeader::read(ip + Ipv4Header::kBytes, std::min(size - kBeforeTcp, total), headers.tcp);
  if (problem != nullptr) return problem;
  const std::size_t before = Ipv4Header::kBytes + headers.tcp.bytes();
  if (total < before) return "too short";
  headers.payload = static_cast<std::uint32_t>(total - before);
  return nullptr;
}

std::uint16_t tcp_checksum(const FrameHeaders& headers, const std::uint8_t* payload) {
  return compute_tcp_checksum(headers.ipv4, headers.tcp, payload, headers.payload);
}

std::uint16_t tcp_checksum_field(const std::uint8_t* tcp) {
  return load_be16(tcp + TcpHeader::kChecksumOffset);
}

}  // namespace rnicsim
