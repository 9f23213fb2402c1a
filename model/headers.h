// SPDX-License-Identifier: MIT
// The headers of a packet, decoded: Ethernet II, IPv4, UDP, GRH (which is also IPv6's header), and
// InfiniBand's LRH, BTH and extension headers, with their constants (IBTA volume 1, chapters 7.7,
// 8.3 and 9.2-9.3; RoCE annexes A16 and A17).
//
// `write` produces the bytes of the wire, reserved bits zero; `read` takes them apart; neither
// knows where the bytes live. `write` of the IPv4 header computes its checksum.
//
// Left out: IPv4 options, IPv6 extension headers, RDETH and XRCETH.
// UDP checksum is zero: annex A17.3.1.2 has it so for IPv4, and RFC 6935 lets a tunnel's packets,
// which have their own check, do without over IPv6 too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/nic_abi.h"
#include "model/opcode.h"
#include "model/units.h"
#include "model/verbs_types.h"

namespace rnicsim {

using abi::Ipv4Address;
using abi::MacAddress;

// ---- What a frame costs beside its headers (IEEE 802.3 clauses 3.1 and 4.4.2) ------------------

inline constexpr Bytes kPreambleBytes{8};  ///< preamble and start-of-frame delimiter
inline constexpr Bytes kFcsBytes{4};
inline constexpr Bytes kInterPacketGapBytes{12};
inline constexpr Bytes kMinFrameBytes{64};  ///< destination address to FCS
inline constexpr Bytes kIcrcBytes{4};
inline constexpr Bytes kVcrcBytes{2};

// ---- Ethernet, IPv4, GRH, UDP
// -----------------------------------------------------------------------

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeRoceV1 = 0x8915;
inline constexpr std::uint8_t kIpProtocolUdp = 17;
inline constexpr std::uint8_t kGrhNextHeaderBth = 0x1b;
inline constexpr std::uint16_t kRoceUdpPort = 4791;

struct EthernetHeader {
  static constexpr std::size_t kBytes = 14;
  MacAddress destination{};
  MacAddress source{};
  std::uint16_t ether_type = kEtherTypeIpv4;
  void write(std::uint8_t* at) const;
  static EthernetHeader read(const std::uint8_t* at);
};

inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;

/// The tag between source address and EtherType (IEEE 802.1Q 9.6), without its own EtherType.
struct VlanTag {
  static constexpr std::size_t kBytes = 4;  ///< with it
  std::uint8_t priority = 0;                ///< PCP, three bits
  bool drop_eligible = false;
  std::uint16_t id = 0;  ///< VID, twelve bits; 0: the tag tells the priority only
  constexpr std::uint16_t control() const {
    return static_cast<std::uint16_t>(priority << 13 | (drop_eligible ? 1 << 12 : 0) | id);
  }
  static constexpr VlanTag from_control(std::uint16_t control) {
    return {static_cast<std::uint8_t>(control >> 13), (control & 0x1000) != 0,
            static_cast<std::uint16_t>(control & 0xfff)};
  }
};

/// Number of a port within its InfiniBand subnet.
using Lid = std::uint16_t;
inline constexpr Lid kLastUnicastLid = 0xbfff;

/// Local route header: by what InfiniBand's switches forward. Link version 0; behind it the BTH
/// (LNH 2, a packet within its subnet).
struct Lrh {
  static constexpr std::size_t kBytes = 8;
  static constexpr std::uint8_t kNextHeaderBth = 2;
  std::uint8_t virtual_lane = 0;   ///< of the link that the packet is on
  std::uint8_t service_level = 0;  ///< the same on all links
  std::uint8_t next_header = kNextHeaderBth;
  Lid destination = 0;
  std::uint16_t words = 0;  ///< of four bytes, LRH to ICRC
  Lid source = 0;
  void write(std::uint8_t* at) const;
  /// The link version, which must be 0, is not looked at.
  static Lrh read(const std::uint8_t* at);
};

/// Explicit congestion notification (RFC 3168).
enum class Ecn : std::uint8_t { kNotCapable = 0, kCapable1 = 1, kCapable0 = 2, kCongestion = 3 };

struct Ipv4Header {
  static constexpr std::size_t kBytes = 20;
  std::uint8_t dscp = 0;
  Ecn ecn = Ecn::kNotCapable;
  std::uint16_t total_length = 0;
  std::uint16_t identification = 0;
  bool dont_fragment = true;
  std::uint8_t ttl = 64;
  std::uint8_t protocol = kIpProtocolUdp;
  Ipv4Address source;
  Ipv4Address destination;
  void write(std::uint8_t* at) const;
  /// REQUIRES: version 4, no options. The checksum is not looked at (ipv4_checksum_ok).
  static Ipv4Header read(const std::uint8_t* at);
};

/// Whether the 20 bytes of a header sum up as RFC 791 asks.
bool ipv4_checksum_ok(const std::uint8_t* header);

/// Global identifier of a port; an IPv6 address.
using Gid = std::array<std::uint8_t, 16>;

/// ::ffff:a.b.c.d
Gid ipv4_mapped_gid(Ipv4Address address);
/// fe80::/64 with the modified EUI-64 of a MAC address (RFC 4291, appendix A).
Gid link_local_gid(const MacAddress& mac);
/// fd72:6e69:6373::a.b.c.d, which routers forward: a site's own prefix (RFC 4193), here always the
/// same one.
Gid unique_local_gid(Ipv4Address address);

/// Global routing header of RoCEv1, byte for byte the IPv6 header (RFC 8200) of RoCEv2.
struct Grh {
  static constexpr std::size_t kBytes = 40;
  std::uint8_t traffic_class = 0;  ///< DSCP and ECN
  std::uint32_t flow_label = 0;    ///< 20 bits
  std::uint16_t payload_length = 0;
  std::uint8_t next_header = kGrhNextHeaderBth;
  std::uint8_t hop_limit = 64;
  Gid source{};
  Gid destination{};
  void write(std::uint8_t* at) const;
  /// The version, which must be 6, is not looked at.
  static Grh read(const std::uint8_t* at);
};

struct UdpHeader {
  static constexpr std::size_t kBytes = 8;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = kRoceUdpPort;
  std::uint16_t length = 0;
  std::uint16_t checksum = 0;
  void write(std::uint8_t* at) const;
  static UdpHeader read(const std::uint8_t* at);
};

// ---- InfiniBand transport headers --------------------------------------------------------------

/// Base transport header.
struct Bth {
  static constexpr std::size_t kBytes = 12;
  static constexpr std::uint16_t kDefaultPKey = 0xffff;
  Opcode opcode = Opcode::kSendFirst;
  WireTransport transport = WireTransport::kRc;
  bool solicited_event = false;
  bool mig_req = true;  ///< IBTA 17.2.8: the migration state is Migrated
  std::uint16_t p_key = kDefaultPKey;
  std::uint8_t pad_count = 0;  ///< 0 to 3
  bool fecn = false;
  bool becn = false;
  bool ack_req = false;
  Qpn dest_qp;
  Psn psn;
  void write(std::uint8_t* at) const;
  /// The header version, which must be 0, is not looked at.
  static Bth read(const std::uint8_t* at);
};

/// RDMA extended transport header: where a WRITE goes or a READ comes from.
struct Reth {
  static constexpr std::size_t kBytes = 16;
  VirtualAddress virtual_address;
  MemoryKey r_key;
  std::uint32_t dma_length = 0;
  void write(std::uint8_t* at) const;
  static Reth read(const std::uint8_t* at);
};

/// Atomic extended transport header: where an atomic operates, and on what.
struct AtomicEth {
  static constexpr std::size_t kBytes = 28;
  VirtualAddress virtual_address;
  MemoryKey r_key;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  void write(std::uint8_t* at) const;
  static AtomicEth read(const std::uint8_t* at);
};

/// Atomic ACK extended transport header: what was in memory before.
struct AtomicAckEth {
  static constexpr std::size_t kBytes = 8;
  std::uint64_t original = 0;
  void write(std::uint8_t* at) const;
  static AtomicAckEth read(const std::uint8_t* at);
};

/// Datagram extended transport header, on every UD packet.
struct Deth {
  static constexpr std::size_t kBytes = 8;
  std::uint32_t q_key = 0;
  Qpn source_qp;
  void write(std::uint8_t* at) const;
  static Deth read(const std::uint8_t* at);
};

/// Invalidate extended transport header: the key that the receiver shall invalidate.
struct Ieth {
  static constexpr std::size_t kBytes = 4;
  MemoryKey r_key;
  void write(std::uint8_t* at) const;
  static Ieth read(const std::uint8_t* at);
};

/// Why a request was refused: the whole syndrome byte (IBTA 9.7.5.2.4).
enum class NakCode : std::uint8_t {
  kPsnSequenceError = 0x60,
  kInvalidRequest = 0x61,
  kRemoteAccessError = 0x62,
  kRemoteOperationalError = 0x63,
};
const char* name_of(NakCode code);

/// ACK extended transport header.
struct Aeth {
  static constexpr std::size_t kBytes = 4;
  /// Credit count of an ACK that grants none and limits none (no end-to-end credits in use).
  static constexpr std::uint8_t kNoCredits = 0x1f;
  std::uint8_t syndrome = kNoCredits;
  std::uint32_t msn = 0;  ///< 24 bits

  static constexpr Aeth ack(std::uint32_t msn, std::uint8_t credits = kNoCredits) {
    return Aeth{static_cast<std::uint8_t>(credits & 0x1f), msn & 0xffffff};
  }
  /// `timer` is the 5-bit code of the least time to wait (IBTA table 46).
  static constexpr Aeth rnr_nak(std::uint32_t msn, std::uint8_t timer) {
    return Aeth{static_cast<std::uint8_t>(0x20 | (timer & 0x1f)), msn & 0xffffff};
  }
  static constexpr Aeth nak(std::uint32_t msn, NakCode code) {
    return Aeth{static_cast<std::uint8_t>(code), msn & 0xffffff};
  }
  constexpr bool is_ack() const { return (syndrome & 0xe0) == 0x00; }
  constexpr bool is_rnr_nak() const { return (syndrome & 0xe0) == 0x20; }
  constexpr bool is_nak() const { return (syndrome & 0xe0) == 0x60; }
  /// Credit count of an ACK, timer code of an RNR NAK.
  constexpr std::uint8_t value() const { return syndrome & 0x1f; }
  /// REQUIRES: is_nak().
  constexpr NakCode nak_code() const { return static_cast<NakCode>(syndrome); }

  void write(std::uint8_t* at) const;
  static Aeth read(const std::uint8_t* at);
};

/// Immediate data.
struct ImmDt {
  static constexpr std::size_t kBytes = 4;
  std::uint32_t immediate = 0;
  void write(std::uint8_t* at) const;
  static ImmDt read(const std::uint8_t* at);
};

namespace opcode_table {
constexpr std::array<std::uint8_t, kTraits.size()> extension_bytes_table() {
  std::array<std::uint8_t, kTraits.size()> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto bytes_of = [i](std::uint16_t trait, std::size_t bytes) {
      return (kTraits[i] & trait) != 0 ? bytes : 0;
    };
    table[i] = static_cast<std::uint8_t>(
        bytes_of(kReth, Reth::kBytes) + bytes_of(kAtomicEth, AtomicEth::kBytes) +
        bytes_of(kAeth, Aeth::kBytes) + bytes_of(kAtomicAckEth, AtomicAckEth::kBytes) +
        bytes_of(kImmDt, ImmDt::kBytes) + bytes_of(kIeth, Ieth::kBytes));
  }
  return table;
}
inline constexpr auto kExtensionBytes = extension_bytes_table();
}  // namespace opcode_table

constexpr bool has_deth(const Bth& bth) { return bth.transport == WireTransport::kUd; }

/// Bytes of the headers between BTH and payload. They come in the order DETH, RETH, AtomicETH,
/// AETH, AtomicAckETH, ImmDt, IETH.
constexpr std::size_t extension_bytes(const Bth& bth) {
  const auto index = static_cast<std::size_t>(bth.opcode);
  const std::size_t of_opcode =
      index < opcode_table::kExtensionBytes.size() ? opcode_table::kExtensionBytes[index] : 0;
  return of_opcode + (has_deth(bth) ? Deth::kBytes : 0);
}
/// Of an opcode with most of them, and a DETH.
inline constexpr std::size_t kMaxExtensionBytes = AtomicEth::kBytes + Deth::kBytes;

}  // namespace rnicsim
