// SPDX-License-Identifier: MIT
// The bytes of a frame's headers as the stack writes them and reads them in host RAM: Ethernet II,
// IPv4 without options, TCP. Untagged: priorities are the NIC's business.
#pragma once

#include <array>
#include <cstdint>

#include "model/headers.h"
#include "model/tcp_header.h"

namespace rnicsim {

struct NetworkAddress {
  abi::MacAddress mac{};
  abi::Ipv4Address ip;
};

struct FrameHeaders {
  static constexpr std::size_t kMaxBytes =
      EthernetHeader::kBytes + Ipv4Header::kBytes + TcpHeader::kMaxBytes;
  using Image = std::array<std::uint8_t, kMaxBytes>;

  EthernetHeader eth;
  Ipv4Header ipv4;
  TcpHeader tcp;
  std::uint32_t payload = 0;  ///< bytes behind

  std::size_t bytes() const { return EthernetHeader::kBytes + Ipv4Header::kBytes + tcp.bytes(); }
  /// Fills in the IPv4 header's length and checksum; `checksum` is TCP's.
  void write(Image& at, std::uint16_t checksum) const;
  /// `size` bytes of a frame of `frame` bytes stand at `at`. Null, or why they are no frame for us.
  static const char* read(const std::uint8_t* at, std::size_t size, std::size_t frame,
                          FrameHeaders& headers);
};

/// TCP's checksum over IPv4 (RFC 9293, 3.1) of a segment with this header, whose own field counts
/// as zero, and this payload.
std::uint16_t tcp_checksum(const FrameHeaders& headers, const std::uint8_t* payload);
/// The field of the header that begins at `tcp`.
std::uint16_t tcp_checksum_field(const std::uint8_t* tcp);

}  // namespace rnicsim
