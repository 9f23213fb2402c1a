// SPDX-License-Identifier: MIT
#include "model/frame.h"

#include <zlib.h>

#include <algorithm>

#include "model/byte_order.h"
#include "model/icrc.h"
#include "model/vcrc.h"

namespace rnicsim {

namespace {

constexpr std::uint8_t kIpv4NoOptions = 0x45;
constexpr std::uint8_t kVersion6 = 6;
/// Source ports that stand for a flow label begin here (RFC 6335's dynamic ports).
constexpr std::uint16_t kDynamicPorts = 0xc000;
constexpr std::uint32_t kFlowMask = 0x3fff;

/// A frame being taken apart: each step checks what it needs before it reads it.
class FrameReader {
 public:
  FrameReader(const std::uint8_t* frame, std::size_t size, Packet& packet)
      : next_(frame), left_(size), packet_(packet) {}

  const char* read_infiniband() {
    if (left_ < Lrh::kBytes + kVcrcBytes.count()) return "shorter than LRH and VCRC";
    left_ -= kVcrcBytes.count();
    if (load_le16(next_ + left_) != vcrc_of(next_, left_)) return "wrong VCRC";
    if ((next_[0] & 0xf) != 0) return "another link version";
    const std::size_t size = left_;
    packet_.link_layer = LinkLayer::kInfiniBand;
    packet_.lrh = Lrh::read(next_);
    skip(Lrh::kBytes);
    if (packet_.lrh.next_header != Lrh::kNextHeaderBth) return "another link next header";
    if (packet_.lrh.words * std::size_t{4} != size) return "packet length does not fit the frame";
    packet_.lrh.words = 0;
    if (const char* error = read_transport()) return error;
    return read_payload();
  }

  const char* read() {
    if (!take(packet_.eth)) return "shorter than an Ethernet header";
    if (const char* error = read_tag()) return error;
    if (packet_.eth.ether_type == kEtherTypeMacControl) {
      packet_.kind = FrameKind::kPause;
      return PauseFrame::read(next_, left_, packet_.pause);
    }
    if (const char* error = read_network()) return error;
    if (packet_.is_tcp()) return read_segment();
    if (const char* error = read_transport()) return error;
    return read_payload();
  }

 private:
  template <class Header>
  bool take(Header& header) {
    if (left_ < Header::kBytes) return false;
    header = Header::read(next_);
    skip(Header::kBytes);
    return true;
  }
  template <class Header>
  bool take_if(bool present, Header& header) {
    return !present || take(header);
  }
  void skip(std::size_t bytes) {
    next_ += bytes;
    left_ -= bytes;
  }

  const char* read_tag() {
    if (packet_.eth.ether_type != kEtherTypeVlan) return nullptr;
    if (left_ < VlanTag::kBytes) return "shorter than an 802.1Q tag";
    packet_.tagged = true;
    packet_.vlan = VlanTag::from_control(load_be16(next_));
    packet_.eth.ether_type = load_be16(next_ + 2);
    skip(VlanTag::kBytes);
    return nullptr;
  }

  const char* read_network() {
    switch (packet_.eth.ether_type) {
      case kEtherTypeIpv4:
        return read_ipv4();
      case kEtherTypeIpv6:
        packet_.ip_version = IpVersion::kIpv6;
        return read_grh(kIpProtocolUdp);
      case kEtherTypeRoceV1:
        packet_.link_layer = LinkLayer::kRoceV1;
        return read_grh(kGrhNextHeaderBth);
      default:
        return "neither IPv4 nor IPv6 nor RoCEv1 nor MAC control";
    }
  }

  const char* read_ipv4() {
    const std::uint8_t* const header = next_;
    const std::size_t available = left_;
    if (!take(packet_.ipv4)) return "shorter than an IPv4 header";
    if (header[0] != kIpv4NoOptions) return "no IPv4 header without options";
    if (!ipv4_checksum_ok(header)) return "wrong IPv4 header checksum";
    const std::uint8_t protocol = packet_.ipv4.protocol;
    if (protocol != kIpProtocolUdp && protocol != kIpProtocolTcp) return "neither UDP nor TCP";
    if (packet_.ipv4.total_length < Ipv4Header::kBytes || packet_.ipv4.total_length > available)
      return "IPv4 total length does not fit the frame";
    left_ = packet_.ipv4.total_length - Ipv4Header::kBytes;
    return protocol == kIpProtocolTcp ? nullptr : read_udp();
  }

  const char* read_grh(std::uint8_t next_header) {
    const std::uint8_t* const bytes = next_;
    Grh header;
    if (!take(header)) return "shorter than a GRH";
    if (bytes[0] >> 4 != kVersion6) return "GRH or IPv6 header of another version";
    if (header.next_header != next_header) return "another next header";
    if (header.payload_length > left_) return "payload length does not fit the frame";
    left_ = header.payload_length;
    packet_.ipv4.dscp = static_cast<std::uint8_t>(header.traffic_class >> 2);
    packet_.ipv4.ecn = static_cast<Ecn>(header.traffic_class & 3);
    packet_.ipv4.ttl = header.hop_limit;
    if (const char* error = read_gids(header)) return error;
    if (packet_.link_layer == LinkLayer::kRoceV2) return read_udp();
    packet_.udp.source_port =
        static_cast<std::uint16_t>(kDynamicPorts | (header.flow_label & kFlowMask));
    return nullptr;
  }

  const char* read_gids(const Grh& header) {
    const Ipv4Address source(load_be32(&header.source[12]));
    const Ipv4Address destination(load_be32(&header.destination[12]));
    const auto made_of_these = [&](GidKind kind, Gid (*gid_of)(Ipv4Address)) {
      if (header.source != gid_of(source) || header.destination != gid_of(destination))
        return false;
      packet_.gid_kind = kind;
      packet_.ipv4.source = source;
      packet_.ipv4.destination = destination;
      return true;
    };
    if (made_of_these(GidKind::kIpv4Mapped, ipv4_mapped_gid) ||
        made_of_these(GidKind::kUniqueLocal, unique_local_gid))
      return nullptr;
    packet_.gid_kind = GidKind::kLinkLocal;
    return header.source == link_local_gid(packet_.eth.source) &&
                   header.destination == link_local_gid(packet_.eth.destination)
               ? nullptr
               : "GIDs that follow from no address of the ports";
  }

  const char* read_udp() {
    const std::size_t available = left_;
    if (!take(packet_.udp)) return "shorter than a UDP header";
    if (packet_.udp.destination_port != kRoceUdpPort) return "not to RoCE's UDP port";
    return packet_.udp.length == available ? nullptr : "UDP length does not fit the IP packet";
  }

  const char* read_segment() {
    TcpHeader header;
    if (const char* error = TcpHeader::read(next_, left_, header)) return error;
    if (header.bytes() > TcpHeader::kMaxBytes) return "TCP options that leave no room for padding";
    packet_.icrc = load_be16(next_ + TcpHeader::kChecksumOffset);
    skip(static_cast<std::size_t>(next_[12] >> 4) * 4);
    packet_.become_tcp(header, Bytes(left_), false);
    if (left_ != 0) std::copy_n(next_, left_, packet_.payload());
    return nullptr;
  }

  const char* read_transport() {
    Packet& p = packet_;
    if (!take(p.bth)) return "shorter than a BTH";
    if (!is_defined(p.bth.transport, p.bth.opcode)) return "no opcode of its transport";
    const Opcode opcode = p.bth.opcode;
    AtomicEth atomic;
    const bool whole = take_if(has_deth(p.bth), p.deth) && take_if(has_reth(opcode), p.reth) &&
                       take_if(has_atomic_eth(opcode), atomic) &&
                       take_if(has_aeth(opcode), p.aeth) &&
                       take_if(has_atomic_ack_eth(opcode), p.atomic_ack) &&
                       take_if(has_immediate(opcode), p.immdt) && take_if(has_ieth(opcode), p.ieth);
    if (!whole) return "shorter than its extension headers";
    if (has_atomic_eth(opcode)) p.set_atomic_eth(atomic);
    return nullptr;
  }

  const char* read_payload() {
    const std::size_t behind = packet_.bth.pad_count + kIcrcBytes.count();
    if (left_ < behind) return "shorter than pad and ICRC";
    const std::size_t length = left_ - behind;
    if (length > Packet::kMaxPayloadBytes) return "more payload than the largest MTU";
    if ((length + packet_.bth.pad_count) % 4 != 0) return "payload and pad are no multiple of four";
    packet_.set_payload_length(Bytes(length));
    if (length != 0) std::copy_n(next_, length, packet_.payload());
    packet_.icrc = load_le32(next_ + left_ - kIcrcBytes.count());
    return nullptr;
  }

  const std::uint8_t* next_;
  std::size_t left_;  ///< of the frame, then of the IP packet
  Packet& packet_;
};

}  // namespace

namespace {

/// Destination address to EtherType; returns where the frame goes on.
std::uint8_t* write_ethernet(const Packet& packet, std::uint8_t* at) {
  EthernetHeader eth = packet.eth;
  eth.ether_type = packet.tagged ? kEtherTypeVlan : packet.ether_type();
  eth.write(at);
  at += EthernetHeader::kBytes;
  if (!packet.tagged) return at;
  store_be16(at, packet.vlan.control());
  store_be16(at + 2, packet.ether_type());
  return at + VlanTag::kBytes;
}

void write_telemetry(const Packet& packet, std::uint8_t* at) {
  store_be16(at, static_cast<std::uint16_t>(packet.hops() << 12));
  at += HopTelemetry::kHeaderBytes;
  for (std::size_t hop = 0; hop < packet.hops(); ++hop, at += HopTelemetry::kRecordBytes)
    store_be64(at, packet.hop(hop));
}

/// Headers behind Ethernet's to ICRC, and telemetry.
void write_packet(const Packet& packet, std::uint8_t* at) {
  at += packet.write_headers(at);
  if (!packet.payload_elided && packet.payload() != nullptr)
    std::copy_n(packet.payload(), packet.payload_length.count(), at);
  if (packet.is_tcp()) return;
  at += packet.payload_length.count() + packet.bth.pad_count;
  store_le32(at, packet.payload_elided ? compute_icrc(packet) ^ packet.icrc : packet.icrc);
  if (packet.telemetry_bytes != 0) write_telemetry(packet, at + kIcrcBytes.count());
}

void write_infiniband(const Packet& packet, std::vector<std::uint8_t>& frame) {
  frame.assign(packet.frame_bytes().count(), 0);
  if (packet.kind == FrameKind::kCredit) return packet.credit.write(frame.data());
  write_packet(packet, frame.data());
  const std::size_t covered = frame.size() - kVcrcBytes.count();
  const std::uint16_t vcrc = vcrc_of(frame.data(), covered);
  store_le16(&frame[covered], static_cast<std::uint16_t>(packet.bad_fcs ? ~vcrc : vcrc));
}

}  // namespace

void write_frame(const Packet& packet, std::vector<std::uint8_t>& frame, WithFcs with_fcs) {
  if (packet.link_layer == LinkLayer::kInfiniBand) return write_infiniband(packet, frame);
  const std::size_t without_fcs = (packet.frame_bytes() - kFcsBytes).count();
  frame.assign(without_fcs, 0);
  std::uint8_t* const behind = write_ethernet(packet, frame.data());
  if (packet.kind == FrameKind::kPause)
    packet.pause.write(behind);
  else
    write_packet(packet, behind);
  if (with_fcs == WithFcs::kNo) return;
  const uLong fcs = crc32(0, frame.data(), static_cast<uInt>(without_fcs));
  frame.resize(without_fcs + kFcsBytes.count());
  store_le32(&frame[without_fcs], static_cast<std::uint32_t>(fcs));
}

const char* read_frame(const std::uint8_t* frame, std::size_t size, Packet& packet) {
  return FrameReader(frame, size, packet).read();
}

const char* read_infiniband(const std::uint8_t* frame, std::size_t size, Packet& packet) {
  return FrameReader(frame, size, packet).read_infiniband();
}

}  // namespace rnicsim
