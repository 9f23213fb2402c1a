// SPDX-License-Identifier: MIT
#include "model/icrc.h"

#include <zlib.h>

#include <array>

#include "model/tcp_checksum.h"

namespace rnicsim {

namespace {

/// zlib's crc32 of eight bytes of 0xff: the state in which the network header finds the CRC.
constexpr uLong kAfterPseudoLrh = 0x2144df1c;

constexpr std::array<std::uint8_t, Packet::kMaxPayloadBytes> kZeros{};

uLong crc32_of(uLong state, const std::uint8_t* bytes, std::size_t size) {
  return size == 0 ? state : crc32(state, bytes, static_cast<uInt>(size));
}

void mask_ipv4(std::uint8_t* header) {
  header[1] = 0xff;   // DSCP, ECN
  header[8] = 0xff;   // TTL
  header[10] = 0xff;  // checksum
  header[11] = 0xff;
}

void mask_grh(std::uint8_t* header) {
  header[0] |= 0x0f;  // traffic class
  header[1] = 0xff;   // and flow label
  header[2] = 0xff;
  header[3] = 0xff;
  header[7] = 0xff;  // hop limit
}

void mask_variant_fields(const Packet& packet, std::uint8_t* headers) {
  if (packet.link_layer == LinkLayer::kInfiniBand) {
    headers[0] |= 0xf0;               // virtual lane
    headers[Lrh::kBytes + 4] = 0xff;  // of the BTH, as below
    return;
  }
  std::uint8_t* const bth = headers + packet.network_header_bytes();
  packet.has_grh() ? mask_grh(headers) : mask_ipv4(headers);
  if (packet.link_layer == LinkLayer::kRoceV2) {
    bth[-2] = 0xff;  // UDP checksum
    bth[-1] = 0xff;
  }
  bth[4] = 0xff;  // FECN, BECN, resv8a
}

}  // namespace

std::uint32_t compute_icrc(const Packet& packet) {
  if (packet.is_tcp()) return compute_tcp_checksum(packet);
  std::array<std::uint8_t, Packet::kMaxHeaderBytes> headers;
  const std::size_t size = packet.write_headers(headers.data());
  mask_variant_fields(packet, headers.data());
  const bool has_bytes = !packet.payload_elided && packet.payload() != nullptr;
  const uLong before = packet.link_layer == LinkLayer::kInfiniBand ? 0 : kAfterPseudoLrh;
  uLong crc = crc32_of(before, headers.data(), size);
  crc = crc32_of(crc, has_bytes ? packet.payload() : kZeros.data(), packet.payload_length.count());
  crc = crc32_of(crc, kZeros.data(), packet.bth.pad_count);
  return static_cast<std::uint32_t>(crc);
}

}  // namespace rnicsim
