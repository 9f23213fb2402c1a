// SPDX-License-Identifier: MIT
#include "model/headers.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr std::uint8_t kVersion4NoOptions = 0x45;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::size_t kIpv4ChecksumOffset = 10;

constexpr std::uint8_t kSolicitedEvent = 0x80;
constexpr std::uint8_t kMigReq = 0x40;
constexpr std::uint8_t kFecn = 0x80;
constexpr std::uint8_t kBecn = 0x40;
constexpr std::uint8_t kAckReq = 0x80;

/// In the order of opcode_table::kTraits.
constexpr std::array<const char*, opcode_table::kTraits.size()> kOpcodeNames = {
    "RC SEND First",
    "RC SEND Middle",
    "RC SEND Last",
    "RC SEND Last with Immediate",
    "RC SEND Only",
    "RC SEND Only with Immediate",
    "RC RDMA WRITE First",
    "RC RDMA WRITE Middle",
    "RC RDMA WRITE Last",
    "RC RDMA WRITE Last with Immediate",
    "RC RDMA WRITE Only",
    "RC RDMA WRITE Only with Immediate",
    "RC RDMA READ Request",
    "RC RDMA READ response First",
    "RC RDMA READ response Middle",
    "RC RDMA READ response Last",
    "RC RDMA READ response Only",
    "RC Acknowledge",
    "RC ATOMIC Acknowledge",
    "RC CmpSwap",
    "RC FetchAdd",
    "reserved",
    "RC SEND Last with Invalidate",
    "RC SEND Only with Invalidate",
};

/// One's complement sum of the header's 16-bit words (RFC 1071).
std::uint16_t ones_complement_sum(const std::uint8_t* header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < Ipv4Header::kBytes; i += 2) sum += load_be16(header + i);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum + (sum >> 16));
}

}  // namespace

void EthernetHeader::write(std::uint8_t* at) const {
  std::copy(destination.begin(), destination.end(), at);
  std::copy(source.begin(), source.end(), at + 6);
  store_be16(at + 12, ether_type);
}

EthernetHeader EthernetHeader::read(const std::uint8_t* at) {
  EthernetHeader header;
  std::copy_n(at, header.destination.size(), header.destination.begin());
  std::copy_n(at + 6, header.source.size(), header.source.begin());
  header.ether_type = load_be16(at + 12);
  return header;
}

void Ipv4Header::write(std::uint8_t* at) const {
  at[0] = kVersion4NoOptions;
  at[1] = static_cast<std::uint8_t>(dscp << 2 | static_cast<std::uint8_t>(ecn));
  store_be16(at + 2, total_length);
  store_be16(at + 4, identification);
  store_be16(at + 6, dont_fragment ? kDontFragment : 0);
  at[8] = ttl;
  at[9] = protocol;
  store_be16(at + kIpv4ChecksumOffset, 0);
  store_be32(at + 12, source.value());
  store_be32(at + 16, destination.value());
  store_be16(at + kIpv4ChecksumOffset, static_cast<std::uint16_t>(~ones_complement_sum(at)));
}

Ipv4Header Ipv4Header::read(const std::uint8_t* at) {
  Ipv4Header header;
  header.dscp = static_cast<std::uint8_t>(at[1] >> 2);
  header.ecn = static_cast<Ecn>(at[1] & 3);
  header.total_length = load_be16(at + 2);
  header.identification = load_be16(at + 4);
  header.dont_fragment = (load_be16(at + 6) & kDontFragment) != 0;
  header.ttl = at[8];
  header.protocol = at[9];
  header.source = Ipv4Address(load_be32(at + 12));
  header.destination = Ipv4Address(load_be32(at + 16));
  return header;
}

bool ipv4_checksum_ok(const std::uint8_t* header) { return ones_complement_sum(header) == 0xffff; }

void UdpHeader::write(std::uint8_t* at) const {
  store_be16(at, source_port);
  store_be16(at + 2, destination_port);
  store_be16(at + 4, length);
  store_be16(at + 6, checksum);
}

UdpHeader UdpHeader::read(const std::uint8_t* at) {
  UdpHeader header;
  header.source_port = load_be16(at);
  header.destination_port = load_be16(at + 2);
  header.length = load_be16(at + 4);
  header.checksum = load_be16(at + 6);
  return header;
}

const char* name_of(RcOpcode opcode) {
  return is_rc(opcode) ? kOpcodeNames[static_cast<std::size_t>(opcode)] : "no RC opcode";
}

void Bth::write(std::uint8_t* at) const {
  at[0] = static_cast<std::uint8_t>(opcode);
  at[1] = static_cast<std::uint8_t>((solicited_event ? kSolicitedEvent : 0) |
                                    (mig_req ? kMigReq : 0) | (pad_count & 3) << 4);
  store_be16(at + 2, p_key);
  at[4] = static_cast<std::uint8_t>((fecn ? kFecn : 0) | (becn ? kBecn : 0));
  store_be24(at + 5, dest_qp.value());
  at[8] = ack_req ? kAckReq : 0;
  store_be24(at + 9, psn.value());
}

Bth Bth::read(const std::uint8_t* at) {
  Bth bth;
  bth.opcode = static_cast<RcOpcode>(at[0]);
  bth.solicited_event = (at[1] & kSolicitedEvent) != 0;
  bth.mig_req = (at[1] & kMigReq) != 0;
  bth.pad_count = static_cast<std::uint8_t>(at[1] >> 4 & 3);
  bth.p_key = load_be16(at + 2);
  bth.fecn = (at[4] & kFecn) != 0;
  bth.becn = (at[4] & kBecn) != 0;
  bth.dest_qp = Qpn(load_be24(at + 5));
  bth.ack_req = (at[8] & kAckReq) != 0;
  bth.psn = Psn(load_be24(at + 9));
  return bth;
}

void Reth::write(std::uint8_t* at) const {
  store_be64(at, virtual_address.value());
  store_be32(at + 8, r_key.value());
  store_be32(at + 12, dma_length);
}

Reth Reth::read(const std::uint8_t* at) {
  Reth reth;
  reth.virtual_address = VirtualAddress(load_be64(at));
  reth.r_key = MemoryKey(load_be32(at + 8));
  reth.dma_length = load_be32(at + 12);
  return reth;
}

const char* name_of(NakCode code) {
  switch (code) {
    case NakCode::kPsnSequenceError:
      return "PSN sequence error";
    case NakCode::kInvalidRequest:
      return "invalid request";
    case NakCode::kRemoteAccessError:
      return "remote access error";
    case NakCode::kRemoteOperationalError:
      return "remote operational error";
  }
  return "unknown NAK";
}

void Aeth::write(std::uint8_t* at) const {
  at[0] = syndrome;
  store_be24(at + 1, msn);
}

Aeth Aeth::read(const std::uint8_t* at) { return Aeth{at[0], load_be24(at + 1)}; }

void ImmDt::write(std::uint8_t* at) const { store_be32(at, immediate); }

ImmDt ImmDt::read(const std::uint8_t* at) { return ImmDt{load_be32(at)}; }

}  // namespace rnicsim
