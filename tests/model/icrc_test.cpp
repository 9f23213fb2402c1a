// SPDX-License-Identifier: MIT
// Against scapy and tshark: wire_format_judge.py, over every packet shape.
// Here: the known CRC, and what the check must and must not notice.
#include "model/icrc.h"

#include <catch2/catch.hpp>
#include <vector>

#include "model/byte_order.h"
#include "model/frame.h"

namespace rnicsim {
namespace {

using namespace literals;

PacketRef sealed_write(PacketPool& pool, Bytes length) {
  PacketRef packet = pool.create();
  packet->ipv4.source = Ipv4Address(0x0a000001);
  packet->ipv4.destination = Ipv4Address(0x0a000002);
  packet->udp.source_port = 0xc000;
  packet->bth.opcode = Opcode::kWriteOnly;
  packet->bth.dest_qp = Qpn(0x11);
  packet->bth.psn = Psn(1);
  packet->set_payload_length(length);
  for (std::uint64_t i = 0; i < length.count(); ++i)
    packet->payload()[i] = static_cast<std::uint8_t>(7 * i + 1);
  seal_icrc(*packet);
  return packet;
}

/// CRC-32 of IEEE 802.3, bit by bit.
std::uint32_t crc32_by_bits(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

TEST_CASE("The ICRC is the CRC-32 of the masked packet behind eight bytes of ones") {
  PacketPool pool;
  for (const int length : {0, 1, 2, 3, 4, 63, 64, 1000, 4095, 4096}) {
    const PacketRef packet = sealed_write(pool, Bytes(length));
    std::vector<std::uint8_t> frame;
    write_frame(*packet, frame);
    std::vector<std::uint8_t> covered(8, 0xff);
    covered.insert(covered.end(), frame.begin() + 14, frame.end() - 4);
    for (const int offset : {1, 8, 10, 11, 26, 27, 32}) covered[8 + offset] = 0xff;
    REQUIRE(packet->icrc == crc32_by_bits(covered));
    REQUIRE(load_le32(&frame[frame.size() - 4]) == packet->icrc);
  }
}

TEST_CASE("The ICRC of IPv6 and RoCEv1 is that of the packet masked in their own way") {
  PacketPool pool;
  for (const LinkLayer link_layer : {LinkLayer::kRoceV2, LinkLayer::kRoceV1}) {
    const PacketRef packet = sealed_write(pool, 77_B);
    packet->link_layer = link_layer;
    packet->ip_version = IpVersion::kIpv6;
    seal_icrc(*packet);
    std::vector<std::uint8_t> frame;
    write_frame(*packet, frame);
    std::vector<std::uint8_t> covered(8, 0xff);
    covered.insert(covered.end(), frame.begin() + 14, frame.end() - 4);
    covered[8] = 0x6f;
    for (const int offset : {1, 2, 3, 7}) covered[8 + offset] = 0xff;
    if (link_layer == LinkLayer::kRoceV2) covered[8 + 46] = covered[8 + 47] = 0xff;
    covered[8 + (link_layer == LinkLayer::kRoceV2 ? 52 : 44)] = 0xff;
    REQUIRE(packet->icrc == crc32_by_bits(covered));
  }
}

TEST_CASE("The ICRC of IPv6 and RoCEv1 survives a change of traffic class and hop limit only") {
  PacketPool pool;
  for (const LinkLayer link_layer : {LinkLayer::kRoceV2, LinkLayer::kRoceV1}) {
    const PacketRef packet = sealed_write(pool, 12_B);
    packet->link_layer = link_layer;
    packet->ip_version = IpVersion::kIpv6;
    seal_icrc(*packet);
    packet->ipv4.ecn = Ecn::kCongestion;
    packet->ipv4.dscp = 48;
    packet->ipv4.ttl = 1;
    packet->bth.fecn = true;
    REQUIRE(icrc_ok(*packet));
    packet->ipv4.source = Ipv4Address(0x0a000003);
    REQUIRE_FALSE(icrc_ok(*packet));
  }
}

TEST_CASE("The ICRC of InfiniBand covers the LRH but its virtual lane") {
  PacketPool pool;
  const PacketRef packet = sealed_write(pool, 77_B);
  packet->link_layer = LinkLayer::kInfiniBand;
  packet->lrh = Lrh{};
  packet->lrh.service_level = 3;
  packet->lrh.destination = 2;
  packet->lrh.source = 1;
  seal_icrc(*packet);
  std::vector<std::uint8_t> frame;
  write_frame(*packet, frame);
  std::vector<std::uint8_t> covered(frame.begin(), frame.end() - 6);
  covered[0] |= 0xf0;
  covered[8 + 4] = 0xff;
  REQUIRE(packet->icrc == crc32_by_bits(covered));
  packet->lrh.virtual_lane = 5;
  packet->bth.fecn = true;
  REQUIRE(icrc_ok(*packet));
  packet->lrh.destination = 3;
  REQUIRE_FALSE(icrc_ok(*packet));
}

TEST_CASE("The ICRC survives what a switch or router may change") {
  PacketPool pool;
  const PacketRef packet = sealed_write(pool, 100_B);
  packet->ipv4.ecn = Ecn::kCongestion;
  packet->ipv4.dscp = 48;
  packet->ipv4.ttl = 1;
  packet->udp.checksum = 0x1234;
  packet->bth.fecn = true;
  packet->bth.becn = true;
  packet->eth.source = {1, 2, 3, 4, 5, 6};
  REQUIRE(icrc_ok(*packet));
}

TEST_CASE("The ICRC notices a change of any one bit of payload") {
  PacketPool pool;
  const PacketRef packet = sealed_write(pool, 33_B);
  for (int i = 0; i < 33; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      const auto flip = static_cast<std::uint8_t>(1 << bit);
      packet->payload()[i] ^= flip;
      REQUIRE_FALSE(icrc_ok(*packet));
      packet->payload()[i] ^= flip;
    }
  }
  REQUIRE(icrc_ok(*packet));
}

TEST_CASE("The ICRC notices a change of address, key, sequence number or queue pair") {
  PacketPool pool;
  const PacketRef good = sealed_write(pool, 8_B);
  const auto notices = [&](auto change) {
    const PacketRef packet = sealed_write(pool, 8_B);
    REQUIRE(icrc_ok(*packet));
    change(*packet);
    return !icrc_ok(*packet);
  };
  REQUIRE(notices([](Packet& p) { p.reth.virtual_address = VirtualAddress(1); }));
  REQUIRE(notices([](Packet& p) { p.reth.r_key = MemoryKey(1); }));
  REQUIRE(notices([](Packet& p) { p.bth.psn = Psn(2); }));
  REQUIRE(notices([](Packet& p) { p.bth.dest_qp = Qpn(0x12); }));
  REQUIRE(notices([](Packet& p) { p.bth.ack_req = true; }));
  REQUIRE(notices([](Packet& p) { p.ipv4.destination = Ipv4Address(3); }));
  REQUIRE(notices([](Packet& p) { p.udp.source_port = 1; }));
  REQUIRE(notices([](Packet& p) { p.bth.transport = WireTransport::kUc; }));
  REQUIRE(notices([](Packet& p) { p.icrc ^= 1; }));
}

TEST_CASE("An elided payload is whole unless damage is marked, and encodes as right or wrong") {
  PacketPool pool;
  const PacketRef carried = pool.create();
  carried->bth.opcode = Opcode::kWriteMiddle;
  carried->set_payload_length(501_B);
  for (int i = 0; i < 501; ++i) carried->payload()[i] = 0;
  seal_icrc(*carried);

  const PacketRef elided = pool.create();
  elided->bth.opcode = Opcode::kWriteMiddle;
  elided->set_payload_length(501_B);
  elided->payload_elided = true;
  seal_icrc(*elided);
  REQUIRE(elided->icrc == 0);
  REQUIRE(icrc_ok(*elided));

  std::vector<std::uint8_t> frame_of_carried;
  std::vector<std::uint8_t> frame_of_elided;
  write_frame(*carried, frame_of_carried);
  write_frame(*elided, frame_of_elided);
  REQUIRE(frame_of_elided == frame_of_carried);

  carried->icrc ^= 0x80;
  elided->icrc ^= 0x80;
  REQUIRE_FALSE(icrc_ok(*carried));
  REQUIRE_FALSE(icrc_ok(*elided));
  write_frame(*carried, frame_of_carried);
  write_frame(*elided, frame_of_elided);
  REQUIRE(frame_of_elided == frame_of_carried);
}

}  // namespace
}  // namespace rnicsim
