// SPDX-License-Identifier: MIT
#include "model/tcp_checksum.h"

#include <array>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

/// One's complement sum of 16-bit words (RFC 1071), not folded; an odd last byte is a high one.
std::uint64_t sum_of(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t sum = 0;
  std::size_t i = 0;
  for (; i + 1 < size; i += 2) sum += load_be16(bytes + i);
  if (i < size) sum += static_cast<std::uint64_t>(bytes[i]) << 8;
  return sum;
}

std::uint64_t halves(std::uint32_t word) { return (word >> 16) + (word & 0xffff); }

}  // namespace

std::uint16_t compute_tcp_checksum(const Ipv4Header& ip, const TcpHeader& tcp,
                                   const std::uint8_t* payload, std::size_t length) {
  std::array<std::uint8_t, TcpHeader::kMaxBytes> header{};
  const std::size_t header_bytes = tcp.bytes();
  tcp.write(header.data(), 0);
  std::uint64_t sum = halves(ip.source.value()) + halves(ip.destination.value()) + kIpProtocolTcp +
                      header_bytes + length;
  sum += sum_of(header.data(), header_bytes);
  if (payload != nullptr) sum += sum_of(payload, length);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::uint16_t compute_tcp_checksum(const Packet& packet) {
  return compute_tcp_checksum(packet.ipv4, packet.tcp(),
                              packet.payload_elided ? nullptr : packet.payload(),
                              packet.payload_length.count());
}

std::uint16_t tcp_checksum_on_wire(const Packet& packet) {
  const std::uint32_t kept = packet.icrc;
  if (!packet.payload_elided) return static_cast<std::uint16_t>(kept);
  return static_cast<std::uint16_t>(compute_tcp_checksum(packet) ^ kept ^ kept >> 16);
}

}  // namespace rnicsim
