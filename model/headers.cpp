// SPDX-License-Identifier: MIT
#include "model/headers.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

constexpr std::uint8_t kVersion4NoOptions = 0x45;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::size_t kIpv4ChecksumOffset = 10;

constexpr std::uint16_t kLrhLengthMask = 0x7ff;

constexpr std::uint32_t kVersion6 = 0x60000000;
constexpr std::uint32_t kFlowLabelMask = 0xfffff;

constexpr std::uint8_t kOpcodeMask = 0x1f;
constexpr std::uint8_t kSolicitedEvent = 0x80;
constexpr std::uint8_t kMigReq = 0x40;
constexpr std::uint8_t kFecn = 0x80;
constexpr std::uint8_t kBecn = 0x40;
constexpr std::uint8_t kAckReq = 0x80;

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

void Lrh::write(std::uint8_t* at) const {
  at[0] = static_cast<std::uint8_t>(virtual_lane << 4);
  at[1] = static_cast<std::uint8_t>(service_level << 4 | next_header);
  store_be16(at + 2, destination);
  store_be16(at + 4, words);
  store_be16(at + 6, source);
}

Lrh Lrh::read(const std::uint8_t* at) {
  Lrh header;
  header.virtual_lane = at[0] >> 4;
  header.service_level = at[1] >> 4;
  header.next_header = at[1] & 3;
  header.destination = load_be16(at + 2);
  header.words = load_be16(at + 4) & kLrhLengthMask;
  header.source = load_be16(at + 6);
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

Gid ipv4_mapped_gid(Ipv4Address address) {
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  store_be32(&gid[12], address.value());
  return gid;
}

Gid unique_local_gid(Ipv4Address address) {
  Gid gid{0xfd, 0x72, 0x6e, 0x69, 0x63, 0x73};
  store_be32(&gid[12], address.value());
  return gid;
}

Gid link_local_gid(const MacAddress& mac) {
  constexpr std::uint8_t kUniversalBit = 0x02;  // inverted, says "modified"
  Gid gid{0xfe, 0x80};
  std::copy_n(mac.begin(), 3, gid.begin() + 8);
  gid[8] ^= kUniversalBit;
  gid[11] = 0xff;
  gid[12] = 0xfe;
  std::copy_n(mac.begin() + 3, 3, gid.begin() + 13);
  return gid;
}

void Grh::write(std::uint8_t* at) const {
  store_be32(at, kVersion6 | static_cast<std::uint32_t>(traffic_class) << 20 |
                     (flow_label & kFlowLabelMask));
  store_be16(at + 4, payload_length);
  at[6] = next_header;
  at[7] = hop_limit;
  std::copy(source.begin(), source.end(), at + 8);
  std::copy(destination.begin(), destination.end(), at + 24);
}

Grh Grh::read(const std::uint8_t* at) {
  const std::uint32_t first = load_be32(at);
  Grh header;
  header.traffic_class = static_cast<std::uint8_t>(first >> 20);
  header.flow_label = first & kFlowLabelMask;
  header.payload_length = load_be16(at + 4);
  header.next_header = at[6];
  header.hop_limit = at[7];
  std::copy_n(at + 8, header.source.size(), header.source.begin());
  std::copy_n(at + 24, header.destination.size(), header.destination.begin());
  return header;
}

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

void Bth::write(std::uint8_t* at) const {
  at[0] = static_cast<std::uint8_t>(static_cast<unsigned>(transport) << 5 |
                                    (static_cast<unsigned>(opcode) & kOpcodeMask));
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
  bth.opcode = static_cast<Opcode>(at[0] & kOpcodeMask);
  bth.transport = static_cast<WireTransport>(at[0] >> 5);
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

void AtomicEth::write(std::uint8_t* at) const {
  store_be64(at, virtual_address.value());
  store_be32(at + 8, r_key.value());
  store_be64(at + 12, swap_or_add);
  store_be64(at + 20, compare);
}

AtomicEth AtomicEth::read(const std::uint8_t* at) {
  AtomicEth header;
  header.virtual_address = VirtualAddress(load_be64(at));
  header.r_key = MemoryKey(load_be32(at + 8));
  header.swap_or_add = load_be64(at + 12);
  header.compare = load_be64(at + 20);
  return header;
}

void AtomicAckEth::write(std::uint8_t* at) const { store_be64(at, original); }

AtomicAckEth AtomicAckEth::read(const std::uint8_t* at) { return AtomicAckEth{load_be64(at)}; }

void Deth::write(std::uint8_t* at) const {
  store_be32(at, q_key);
  store_be32(at + 4, source_qp.value() & 0xffffff);
}

Deth Deth::read(const std::uint8_t* at) { return Deth{load_be32(at), Qpn(load_be24(at + 5))}; }

void Ieth::write(std::uint8_t* at) const { store_be32(at, r_key.value()); }

Ieth Ieth::read(const std::uint8_t* at) { return Ieth{MemoryKey(load_be32(at))}; }

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
