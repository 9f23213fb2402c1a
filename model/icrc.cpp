// SPDX-License-Identifier: MIT
#include "model/icrc.h"

#include <zlib.h>

#include <array>

namespace rnicsim {

namespace {

/// zlib's crc32 of eight bytes of 0xff: the state in which the IPv4 header finds the CRC.
constexpr uLong kAfterPseudoLrh = 0x2144df1c;

constexpr std::array<std::uint8_t, Packet::kMaxPayloadBytes> kZeros{};

uLong crc32_of(uLong state, const std::uint8_t* bytes, std::size_t size) {
  return size == 0 ? state : crc32(state, bytes, static_cast<uInt>(size));
}

void mask_variant_fields(std::uint8_t* headers) {
  constexpr std::size_t kUdp = Ipv4Header::kBytes;
  constexpr std::size_t kBth = kUdp + UdpHeader::kBytes;
  headers[1] = 0xff;   // DSCP, ECN
  headers[8] = 0xff;   // TTL
  headers[10] = 0xff;  // header checksum
  headers[11] = 0xff;
  headers[kUdp + 6] = 0xff;  // UDP checksum
  headers[kUdp + 7] = 0xff;
  headers[kBth + 4] = 0xff;  // FECN, BECN, resv8a
}

}  // namespace

std::uint32_t compute_icrc(const Packet& packet) {
  std::array<std::uint8_t, Packet::kMaxHeaderBytes> headers;
  const std::size_t size = packet.write_headers(headers.data());
  mask_variant_fields(headers.data());
  const bool has_bytes = !packet.payload_elided && packet.payload() != nullptr;
  uLong crc = crc32_of(kAfterPseudoLrh, headers.data(), size);
  crc = crc32_of(crc, has_bytes ? packet.payload() : kZeros.data(), packet.payload_length.count());
  crc = crc32_of(crc, kZeros.data(), packet.bth.pad_count);
  return static_cast<std::uint32_t>(crc);
}

}  // namespace rnicsim
