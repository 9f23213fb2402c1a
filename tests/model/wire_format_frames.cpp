// SPDX-License-Identifier: MIT
// Writes frames to a capture file for wire_format_judge.py, which holds the same list in its own
// words and has scapy and tshark read it: every shape that a WRITE and its answers have over IPv4,
// then every opcode of every transport over IPv4, IPv6 and RoCEv1, then packets with an 802.1Q tag,
// and frames that pause.
//
// Usage: wire_format_frames FILE. Classic pcap with nanosecond times, Ethernet, no FCS.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "model/icrc.h"
#include "model/packet.h"
#include "tests/support/frame_file.h"

namespace rnicsim {
namespace {

class Frames {
 public:
  explicit Frames(const std::string& path) : capture_(path) {}

  void request(Opcode opcode, std::uint32_t psn, std::uint64_t length, bool ack_req,
               bool elided = false) {
    PacketRef packet = pool_.create();
    address(*packet, 1, 2);
    packet->ipv4.dscp = 26;
    packet->ipv4.ecn = Ecn::kCapable0;
    packet->bth.opcode = opcode;
    packet->bth.dest_qp = Qpn(0x0a0b0c);
    packet->bth.psn = Psn(psn);
    packet->bth.ack_req = ack_req;
    packet->reth.virtual_address = VirtualAddress(0x7f0012345678);
    packet->reth.r_key = MemoryKey(0x00c0de42);
    packet->reth.dma_length = 0x00012345;
    packet->immdt.immediate = 0xcafef00d;
    packet->set_payload_length(Bytes(length));
    packet->payload_elided = elided;
    for (std::uint64_t i = 0; !elided && i < length; ++i)
      packet->payload()[i] = static_cast<std::uint8_t>(31 * i + psn);
    seal_icrc(*packet);
    add(*packet);
  }

  void answer(Aeth aeth, std::uint32_t psn) {
    PacketRef packet = pool_.create();
    address(*packet, 2, 1);
    packet->bth.opcode = Opcode::kAcknowledge;
    packet->bth.dest_qp = Qpn(0x000011);
    packet->bth.psn = Psn(psn);
    packet->aeth = aeth;
    seal_icrc(*packet);
    add(*packet);
  }

  /// As a switch under load leaves it: everything that the ICRC must not cover has changed.
  void changed_on_the_way(std::uint32_t psn) {
    PacketRef packet = pool_.create();
    address(*packet, 1, 2);
    packet->bth.opcode = Opcode::kWriteMiddle;
    packet->bth.dest_qp = Qpn(0x0a0b0c);
    packet->bth.psn = Psn(psn);
    packet->set_payload_length(Bytes(256));
    for (int i = 0; i < 256; ++i) packet->payload()[i] = static_cast<std::uint8_t>(i);
    seal_icrc(*packet);
    packet->ipv4.dscp = 10;
    packet->ipv4.ecn = Ecn::kCongestion;
    packet->ipv4.ttl = 61;
    packet->bth.fecn = true;
    add(*packet);
  }

  /// Every opcode that a transport defines, the number of the opcode byte being the PSN, and one
  /// packet more that has changed on the way.
  void every_opcode(LinkLayer link_layer, IpVersion ip_version, GidKind gids) {
    PacketRef packet;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const auto transport = static_cast<WireTransport>(byte >> 5);
      const auto opcode = static_cast<Opcode>(byte & 0x1f);
      if (!is_defined(transport, opcode)) continue;
      packet = pool_.create();
      address(*packet, 1, 2);
      packet->link_layer = link_layer;
      packet->ip_version = ip_version;
      packet->gid_kind = gids;
      packet->bth.transport = transport;
      packet->bth.opcode = opcode;
      fill(*packet, byte);
      seal_icrc(*packet);
      add(*packet);
    }
    if (!packet->has_grh()) return;  // IPv4 has its identification in the ICRC
    packet->ipv4.dscp = 10;
    packet->ipv4.ecn = Ecn::kCongestion;
    packet->ipv4.ttl = 61;
    packet->ipv4.identification = ++identification_;
    add(*packet);
  }

  void tagged(LinkLayer link_layer, IpVersion ip_version, GidKind gids, VlanTag tag) {
    constexpr std::uint32_t kWriteOnlyImm = 0x0b;
    PacketRef packet = pool_.create();
    address(*packet, 1, 2);
    packet->link_layer = link_layer;
    packet->ip_version = ip_version;
    packet->gid_kind = gids;
    packet->tagged = true;
    packet->vlan = tag;
    packet->bth.opcode = static_cast<Opcode>(kWriteOnlyImm);
    fill(*packet, kWriteOnlyImm);
    seal_icrc(*packet);
    add(*packet);
  }

  void pause(const PauseFrame& frame) {
    PacketRef packet = pool_.create();
    packet->kind = FrameKind::kPause;
    packet->eth.source = {0x02, 0, 0, 0, 0, 1};
    packet->eth.destination = kMacControlAddress;
    packet->pause = frame;
    add(*packet);
  }

  bool close() { return capture_.close(); }

 private:
  void fill(Packet& packet, std::uint32_t psn) {
    packet.bth.dest_qp = Qpn(0x0a0b0c);
    packet.bth.psn = Psn(psn);
    packet.reth.dma_length = 0x00012345;
    packet.set_atomic_eth({VirtualAddress(0x7f0012345678), MemoryKey(0x00c0de42),
                           0x1122334455667788, 0x99aabbccddeeff00});
    packet.aeth = Aeth::ack(0x123456, 7);
    packet.atomic_ack.original = 0x0102030405060708;
    packet.immdt.immediate = 0xcafef00d;
    packet.ieth.r_key = MemoryKey(0x00badb01);
    packet.deth = {0x11111111, Qpn(0x0d0e0f)};
    const bool cnp = packet.bth.transport == WireTransport::kCnp;
    packet.bth.becn = cnp;
    if (!has_payload(packet.bth.opcode)) return;
    packet.set_payload_length(Bytes(cnp ? kCnpReservedBytes : 61));
    for (std::uint64_t i = 0; i < packet.payload_length.count(); ++i)
      packet.payload()[i] = cnp ? 0 : static_cast<std::uint8_t>(31 * i + psn);
  }

  void address(Packet& packet, std::uint8_t from, std::uint8_t to) {
    packet.eth.source = {0x02, 0, 0, 0, 0, from};
    packet.eth.destination = {0x02, 0, 0, 0, 0, to};
    packet.ipv4.source = Ipv4Address(0x0a000000u + from);
    packet.ipv4.destination = Ipv4Address(0x0a000000u + to);
    packet.ipv4.identification = ++identification_;
    packet.udp.source_port = 0xc111;
  }

  PacketPool pool_;
  /// Frame n at n ns.
  void add(const Packet& packet) { capture_.add(packet, Time::ns(++count_)); }
  test::FrameFile capture_;
  std::int64_t count_ = 0;
  std::uint16_t identification_ = 0;
};

bool write_frames(const std::string& path) {
  Frames frames(path);
  frames.request(Opcode::kWriteFirst, 0xfffffe, 4096, false);
  frames.request(Opcode::kWriteMiddle, 0xffffff, 4096, false);
  frames.request(Opcode::kWriteLast, 0, 1, true);
  frames.request(Opcode::kWriteLast, 1, 1022, true);
  frames.request(Opcode::kWriteLastImm, 2, 1023, true);
  frames.request(Opcode::kWriteOnly, 3, 0, true);
  frames.request(Opcode::kWriteOnly, 4, 1, true);
  frames.request(Opcode::kWriteOnly, 5, 2, false);
  frames.request(Opcode::kWriteOnly, 6, 3, true);
  frames.request(Opcode::kWriteOnly, 7, 4, true);
  frames.request(Opcode::kWriteOnlyImm, 8, 61, true);
  frames.request(Opcode::kWriteOnly, 9, 777, true, true);
  frames.request(Opcode::kSendOnly, 10, 0, true);
  frames.request(Opcode::kReadRequest, 11, 0, true);
  frames.changed_on_the_way(12);
  frames.answer(Aeth::ack(1), 0);
  frames.answer(Aeth::ack(0x123456, 7), 8);
  frames.answer(Aeth::nak(2, NakCode::kPsnSequenceError), 9);
  frames.answer(Aeth::nak(3, NakCode::kInvalidRequest), 10);
  frames.answer(Aeth::nak(4, NakCode::kRemoteAccessError), 11);
  frames.answer(Aeth::nak(5, NakCode::kRemoteOperationalError), 12);
  frames.answer(Aeth::rnr_nak(6, 14), 13);
  frames.every_opcode(LinkLayer::kRoceV2, IpVersion::kIpv4, GidKind::kIpv4Mapped);
  frames.every_opcode(LinkLayer::kRoceV2, IpVersion::kIpv6, GidKind::kLinkLocal);
  frames.every_opcode(LinkLayer::kRoceV1, IpVersion::kIpv6, GidKind::kIpv4Mapped);
  frames.tagged(LinkLayer::kRoceV2, IpVersion::kIpv4, GidKind::kIpv4Mapped, {3, false, 0});
  frames.tagged(LinkLayer::kRoceV2, IpVersion::kIpv6, GidKind::kLinkLocal, {7, true, 0xabc});
  frames.tagged(LinkLayer::kRoceV1, IpVersion::kIpv6, GidKind::kIpv4Mapped, {0, false, 1});
  PauseFrame pfc;
  pfc.classes = 1U << 0 | 1U << 3 | 1U << 7;
  pfc.quanta = {0x0102, 0, 0, 0xffff, 0, 0, 0, 0};
  frames.pause(pfc);
  PauseFrame global;
  global.kind = PauseFrame::Kind::kGlobal;
  global.quanta[0] = 0x8001;
  frames.pause(global);
  return frames.close();
}

}  // namespace
}  // namespace rnicsim

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: wire_format_frames FILE\n");
    return 2;
  }
  if (!rnicsim::write_frames(argv[1])) {
    std::fprintf(stderr, "wire_format_frames: cannot write %s\n", argv[1]);
    return 1;
  }
  return 0;
}
