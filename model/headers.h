// SPDX-License-Identifier: MIT
// The headers of a RoCEv2 packet, decoded: Ethernet II, IPv4, UDP, and InfiniBand's BTH, RETH, AETH
// and ImmDt, with their constants and RC opcodes (IBTA volume 1, chapter 9.2-9.3; RoCEv2 annex
// A17).
//
// `write` produces the bytes of the wire, reserved bits zero; `read` takes them apart; neither
// knows where the bytes live. `write` of the IPv4 header computes its checksum.
//
// Left out: VLAN tags (priority is DSCP), IPv4 options, IPv6, AtomicETH, AtomicAckETH and IETH (the
// opcodes that carry them are named here, but no packet of the model uses them yet). UDP checksum
// is zero, as annex A17.3.1.2 has it for IPv4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/nic_abi.h"
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

// ---- Ethernet, IPv4, UDP -----------------------------------------------------------------------

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint8_t kIpProtocolUdp = 17;
inline constexpr std::uint16_t kRoceUdpPort = 4791;

struct EthernetHeader {
  static constexpr std::size_t kBytes = 14;
  MacAddress destination{};
  MacAddress source{};
  std::uint16_t ether_type = kEtherTypeIpv4;
  void write(std::uint8_t* at) const;
  static EthernetHeader read(const std::uint8_t* at);
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

struct UdpHeader {
  static constexpr std::size_t kBytes = 8;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = kRoceUdpPort;
  std::uint16_t length = 0;
  std::uint16_t checksum = 0;
  void write(std::uint8_t* at) const;
  static UdpHeader read(const std::uint8_t* at);
};

// ---- RC opcodes --------------------------------------------------------------------------------

/// BTH opcodes of the reliable connection (IBTA table 38). Any byte may come off the wire: see
/// is_rc.
enum class RcOpcode : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInvalidate = 0x16,
  kSendOnlyInvalidate = 0x17,
};

namespace opcode_table {

inline constexpr std::uint16_t kFirst = 0x001;
inline constexpr std::uint16_t kMiddle = 0x002;
inline constexpr std::uint16_t kLast = 0x004;
inline constexpr std::uint16_t kOnly = 0x008;
inline constexpr std::uint16_t kRequest = 0x010;
inline constexpr std::uint16_t kResponse = 0x020;
inline constexpr std::uint16_t kPayload = 0x040;
inline constexpr std::uint16_t kReth = 0x080;
inline constexpr std::uint16_t kAeth = 0x100;
inline constexpr std::uint16_t kImmDt = 0x200;

inline constexpr std::uint16_t kData = kRequest | kPayload;
inline constexpr std::uint16_t kReadData = kResponse | kPayload;

/// Index = opcode; zero = no RC opcode.
inline constexpr std::array<std::uint16_t, 0x18> kTraits = {
    kData | kFirst,                  // SEND first
    kData | kMiddle,                 // SEND middle
    kData | kLast,                   // SEND last
    kData | kLast | kImmDt,          // SEND last with immediate
    kData | kOnly,                   // SEND only
    kData | kOnly | kImmDt,          // SEND only with immediate
    kData | kFirst | kReth,          // RDMA WRITE first
    kData | kMiddle,                 // RDMA WRITE middle
    kData | kLast,                   // RDMA WRITE last
    kData | kLast | kImmDt,          // RDMA WRITE last with immediate
    kData | kOnly | kReth,           // RDMA WRITE only
    kData | kOnly | kReth | kImmDt,  // RDMA WRITE only with immediate
    kRequest | kReth,                // RDMA READ request
    kReadData | kFirst | kAeth,      // RDMA READ response first
    kReadData | kMiddle,             // RDMA READ response middle
    kReadData | kLast | kAeth,       // RDMA READ response last
    kReadData | kOnly | kAeth,       // RDMA READ response only
    kResponse | kAeth,               // acknowledge
    kResponse | kAeth,               // ATOMIC acknowledge
    kRequest,                        // CmpSwap
    kRequest,                        // FetchAdd
    0,                               // reserved
    kData | kLast,                   // SEND last with invalidate
    kData | kOnly,                   // SEND only with invalidate
};

constexpr bool has(RcOpcode opcode, std::uint16_t traits) {
  const auto index = static_cast<std::size_t>(opcode);
  return index < kTraits.size() && (kTraits[index] & traits) != 0;
}

}  // namespace opcode_table

/// Whether the byte is an RC opcode at all. Every predicate below is false for one that is not.
constexpr bool is_rc(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kRequest | opcode_table::kResponse);
}
// Position in a message, of opcodes that have one: READ request, acknowledge and atomics have none.
constexpr bool is_first(RcOpcode opcode) { return opcode_table::has(opcode, opcode_table::kFirst); }
constexpr bool is_middle(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kMiddle);
}
constexpr bool is_last(RcOpcode opcode) { return opcode_table::has(opcode, opcode_table::kLast); }
constexpr bool is_only(RcOpcode opcode) { return opcode_table::has(opcode, opcode_table::kOnly); }
constexpr bool starts_message(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kFirst | opcode_table::kOnly);
}
constexpr bool ends_message(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kLast | opcode_table::kOnly);
}
/// Goes from requester to responder.
constexpr bool is_request(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kRequest);
}
/// Goes from responder to requester.
constexpr bool is_response(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kResponse);
}
constexpr bool is_send(RcOpcode opcode) {
  return opcode <= RcOpcode::kSendOnlyImm || opcode == RcOpcode::kSendLastInvalidate ||
         opcode == RcOpcode::kSendOnlyInvalidate;
}
constexpr bool is_write(RcOpcode opcode) {
  return opcode >= RcOpcode::kWriteFirst && opcode <= RcOpcode::kWriteOnlyImm;
}
constexpr bool is_read_response(RcOpcode opcode) {
  return opcode >= RcOpcode::kReadResponseFirst && opcode <= RcOpcode::kReadResponseOnly;
}
constexpr bool has_payload(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kPayload);
}
constexpr bool has_reth(RcOpcode opcode) { return opcode_table::has(opcode, opcode_table::kReth); }
constexpr bool has_aeth(RcOpcode opcode) { return opcode_table::has(opcode, opcode_table::kAeth); }
constexpr bool has_immediate(RcOpcode opcode) {
  return opcode_table::has(opcode, opcode_table::kImmDt);
}

const char* name_of(RcOpcode opcode);

// ---- InfiniBand transport headers --------------------------------------------------------------

/// Base transport header.
struct Bth {
  static constexpr std::size_t kBytes = 12;
  static constexpr std::uint16_t kDefaultPKey = 0xffff;
  RcOpcode opcode = RcOpcode::kSendFirst;
  bool solicited_event = false;
  bool mig_req = true;         ///< IBTA 17.2.8: the migration state is Migrated
  std::uint8_t pad_count = 0;  ///< 0 to 3
  std::uint16_t p_key = kDefaultPKey;
  bool fecn = false;
  bool becn = false;
  Qpn dest_qp;
  bool ack_req = false;
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
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<std::uint8_t>(((kTraits[i] & kReth) != 0 ? Reth::kBytes : 0) +
                                         ((kTraits[i] & kAeth) != 0 ? Aeth::kBytes : 0) +
                                         ((kTraits[i] & kImmDt) != 0 ? ImmDt::kBytes : 0));
  return table;
}
inline constexpr auto kExtensionBytes = extension_bytes_table();
}  // namespace opcode_table

/// Bytes of the headers between BTH and payload.
constexpr std::size_t extension_bytes(RcOpcode opcode) {
  const auto index = static_cast<std::size_t>(opcode);
  return index < opcode_table::kExtensionBytes.size() ? opcode_table::kExtensionBytes[index] : 0;
}

}  // namespace rnicsim
