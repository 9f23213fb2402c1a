// SPDX-License-Identifier: MIT
// The headers of a plain frame as software and NIC exchange them in host memory: Ethernet without a
// tag, IPv4 without options, TCP. What comes off the wire or goes there is a Packet instead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/headers.h"
#include "model/packet.h"
#include "model/tcp_header.h"

namespace rnicsim {

struct SegmentHeaders {
  static constexpr std::size_t kMinBytes =
      EthernetHeader::kBytes + Ipv4Header::kBytes + TcpHeader::kBytes;
  static constexpr std::size_t kMaxBytes =
      EthernetHeader::kBytes + Ipv4Header::kBytes + TcpHeader::kMaxBytes;

  EthernetHeader eth;
  Ipv4Header ip;
  TcpHeader tcp;
  std::uint16_t checksum = 0;  ///< TCP's

  std::size_t bytes() const { return EthernetHeader::kBytes + Ipv4Header::kBytes + tcp.bytes(); }
  /// REQUIRES: room for kMaxBytes. IPv4's checksum is made to fit.
  void write(std::uint8_t* at) const;
  /// False: the bytes are no such headers, or more than them. Checksums are not looked at.
  static bool read(const std::uint8_t* at, std::size_t size, SegmentHeaders& headers);
  /// REQUIRES: packet.is_tcp().
  static SegmentHeaders of(const Packet& packet);
};

}  // namespace rnicsim
