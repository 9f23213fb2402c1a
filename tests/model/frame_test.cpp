// SPDX-License-Identifier: MIT
// Against scapy and tshark: wire_format_judge.py, over every packet shape.
#include "model/frame.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/byte_order.h"
#include "model/icrc.h"
#include "model/vcrc.h"

namespace rnicsim {
namespace {

using namespace literals;

PacketRef make(PacketPool& pool, Opcode opcode, Bytes length) {
  PacketRef packet = pool.create();
  packet->bth.opcode = opcode;
  packet->set_payload_length(length);
  return packet;
}

TEST_CASE("An encoded frame has headers, lengths, payload, pad and ICRC in their places") {
  PacketPool pool;
  PacketRef packet = make(pool, Opcode::kWriteOnlyImm, 5_B);
  packet->reth.dma_length = 5;
  packet->immdt.immediate = 0x01020304;
  packet->icrc = 0x11223344;
  for (std::uint8_t i = 0; i < 5; ++i) packet->payload()[i] = static_cast<std::uint8_t>(0xa0 + i);
  std::vector<std::uint8_t> frame(7, 0xee);
  write_frame(*packet, frame);
  REQUIRE(frame.size() == 14 + 20 + 8 + 12 + 16 + 4 + 5 + 3 + 4);
  REQUIRE(load_be16(&frame[12]) == kEtherTypeIpv4);
  REQUIRE(ipv4_checksum_ok(&frame[14]));
  REQUIRE(Ipv4Header::read(&frame[14]).total_length == 72);
  REQUIRE(UdpHeader::read(&frame[34]).length == 52);
  REQUIRE(Bth::read(&frame[42]).pad_count == 3);
  REQUIRE(Reth::read(&frame[54]).dma_length == 5);
  REQUIRE(ImmDt::read(&frame[70]).immediate == 0x01020304);
  const std::vector<std::uint8_t> tail = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0,
                                          0,    0,    0x44, 0x33, 0x22, 0x11};
  REQUIRE(std::vector<std::uint8_t>(frame.begin() + 74, frame.end()) == tail);
}

enum class Shape { kIpv4, kIpv6, kRoceV1 };

/// A packet in which every header that it has is unlike every default.
PacketRef distinct(PacketPool& pool, WireTransport transport, Opcode opcode, Shape shape,
                   GidKind gids) {
  PacketRef packet = make(pool, opcode, has_payload(opcode) ? 61_B : 0_B);
  packet->link_layer = shape == Shape::kRoceV1 ? LinkLayer::kRoceV1 : LinkLayer::kRoceV2;
  packet->ip_version = shape == Shape::kIpv6 ? IpVersion::kIpv6 : IpVersion::kIpv4;
  packet->gid_kind = gids;
  packet->eth.source = {0x02, 1, 2, 3, 4, 5};
  packet->eth.destination = {0x02, 6, 7, 8, 9, 10};
  packet->ipv4.source = Ipv4Address(0x0a000001);
  packet->ipv4.destination = Ipv4Address(0x0a000002);
  packet->ipv4.dscp = 26;
  packet->ipv4.ecn = Ecn::kCongestion;
  packet->ipv4.ttl = 9;
  packet->udp.source_port = 0xc123;
  packet->bth.transport = transport;
  packet->bth.dest_qp = Qpn(0x123456);
  packet->bth.psn = Psn(0x654321);
  packet->bth.ack_req = true;
  packet->reth.dma_length = 0x01020304;
  packet->set_atomic_eth({VirtualAddress(0x1112131415161718), MemoryKey(0x21222324),
                          0x3132333435363738, 0x4142434445464748});
  packet->aeth = Aeth::rnr_nak(0x515253, 7);
  packet->atomic_ack.original = 0x6162636465666768;
  packet->immdt.immediate = 0x71727374;
  packet->ieth.r_key = MemoryKey(0x81828384);
  packet->deth = {0x91929394, Qpn(0xa1a2a3)};
  for (std::uint8_t i = 0; i < 61; ++i) packet->payload()[i] = i;
  seal_icrc(*packet);
  return packet;
}

TEST_CASE("Every defined opcode in every shape comes back from its bytes as it was") {
  PacketPool pool;
  int seen = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto transport = static_cast<WireTransport>(byte >> 5);
    const auto opcode = static_cast<Opcode>(byte & 0x1f);
    if (!is_defined(transport, opcode)) continue;
    for (const Shape shape : {Shape::kIpv4, Shape::kIpv6, Shape::kRoceV1}) {
      for (const GidKind gids :
           {GidKind::kIpv4Mapped, GidKind::kLinkLocal, GidKind::kUniqueLocal}) {
        CAPTURE(byte, static_cast<int>(shape), static_cast<int>(gids));
        const PacketRef packet = distinct(pool, transport, opcode, shape, gids);
        std::vector<std::uint8_t> frame;
        write_frame(*packet, frame);
        REQUIRE(frame.size() == (packet->frame_bytes() - kFcsBytes).count());
        const PacketRef again = pool.create();
        const char* const error = read_frame(frame.data(), frame.size(), *again);
        REQUIRE(std::string(error == nullptr ? "" : error).empty());
        REQUIRE(icrc_ok(*again));
        std::vector<std::uint8_t> frame_again;
        write_frame(*again, frame_again);
        REQUIRE(frame_again == frame);
        REQUIRE(again->bth.opcode == opcode);
        REQUIRE(again->bth.transport == transport);
        REQUIRE(again->udp.source_port == 0xc123);
        REQUIRE(again->payload_length == packet->payload_length);
        if (shape != Shape::kIpv4) REQUIRE(again->gid_kind == gids);
        if (has_atomic_eth(opcode)) REQUIRE(again->atomic_eth().compare == 0x4142434445464748);
        if (has_deth(packet->bth)) REQUIRE(again->deth.source_qp == Qpn(0xa1a2a3));
        ++seen;
      }
    }
  }
  REQUIRE(seen == (23 + 12 + 2 + 1) * 3 * 3);
}

PacketRef on_infiniband(PacketPool& pool, WireTransport transport, Opcode opcode) {
  PacketRef packet = distinct(pool, transport, opcode, Shape::kIpv4, GidKind::kIpv4Mapped);
  packet->link_layer = LinkLayer::kInfiniBand;
  packet->lrh = Lrh{};
  packet->lrh.virtual_lane = 3;
  packet->lrh.service_level = 11;
  packet->lrh.destination = 0x1234;
  packet->lrh.source = 0xbff0;
  seal_icrc(*packet);
  return packet;
}

TEST_CASE("Every defined opcode comes back from InfiniBand's bytes as it was") {
  PacketPool pool;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto transport = static_cast<WireTransport>(byte >> 5);
    const auto opcode = static_cast<Opcode>(byte & 0x1f);
    if (!is_defined(transport, opcode)) continue;
    CAPTURE(byte);
    const PacketRef packet = on_infiniband(pool, transport, opcode);
    std::vector<std::uint8_t> frame;
    write_frame(*packet, frame);
    REQUIRE(frame.size() == packet->frame_bytes().count());
    const PacketRef again = pool.create();
    const char* const error = read_infiniband(frame.data(), frame.size(), *again);
    REQUIRE(std::string(error == nullptr ? "" : error).empty());
    REQUIRE(icrc_ok(*again));
    REQUIRE(again->lrh.service_level == 11);
    REQUIRE(again->bth.opcode == opcode);
    std::vector<std::uint8_t> frame_again;
    write_frame(*again, frame_again);
    REQUIRE(frame_again == frame);
  }
}

TEST_CASE("What is no packet of InfiniBand is told apart") {
  PacketPool pool;
  std::vector<std::uint8_t> frame;
  const PacketRef packet = on_infiniband(pool, WireTransport::kRc, Opcode::kWriteOnly);
  write_frame(*packet, frame);
  const auto error = [&](std::size_t at, std::uint8_t bits, bool sealed = true) {
    std::vector<std::uint8_t> changed = frame;
    changed[at] ^= bits;
    if (sealed) store_le16(&changed[changed.size() - 2], vcrc_of(changed.data(), frame.size() - 2));
    const char* const text = read_infiniband(changed.data(), changed.size(), *pool.create());
    return std::string(text == nullptr ? "" : text);
  };
  CHECK(error(0, 0x10, false) == "wrong VCRC");
  CHECK(error(0, 0x10).empty());  // another lane
  CHECK(error(0, 0x01) == "another link version");
  CHECK(error(1, 0x01) == "another link next header");
  CHECK(error(5, 0x01) == "packet length does not fit the frame");
  const char* const text = read_infiniband(frame.data(), 9, *pool.create());
  REQUIRE(text != nullptr);
  CHECK(std::string(text) == "shorter than LRH and VCRC");
  packet->bad_fcs = true;
  write_frame(*packet, frame);
  CHECK(error(0, 0, false) == "wrong VCRC");
}

TEST_CASE("A frame with FCS leaves the CRC-32 residue of Ethernet") {
  PacketPool pool;
  std::vector<std::uint8_t> frame;
  const PacketRef packet = make(pool, Opcode::kAcknowledge, 0_B);
  write_frame(*packet, frame, WithFcs::kYes);
  REQUIRE(Bytes(frame.size()) == packet->frame_bytes());
  std::uint32_t crc = 0xffffffff;  // bit by bit
  for (const std::uint8_t byte : frame) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  REQUIRE(crc == 0xdebb20e3);
}

TEST_CASE("A frame cut short anywhere is refused, whatever it is") {
  PacketPool pool;
  for (const Shape shape : {Shape::kIpv4, Shape::kIpv6, Shape::kRoceV1}) {
    const PacketRef packet =
        distinct(pool, WireTransport::kRc, Opcode::kWriteOnlyImm, shape, GidKind::kLinkLocal);
    std::vector<std::uint8_t> frame;
    write_frame(*packet, frame);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      const std::vector<std::uint8_t> cut(frame.begin(), frame.begin() + static_cast<long>(size));
      const PacketRef again = pool.create();
      REQUIRE(read_frame(cut.data(), cut.size(), *again) != nullptr);
    }
  }
}

TEST_CASE("What makes bytes no frame of ours is named") {
  PacketPool pool;
  const auto error = [&](Shape shape, std::size_t offset, std::uint8_t value) -> std::string {
    const PacketRef packet =
        distinct(pool, WireTransport::kUd, Opcode::kSendOnly, shape, GidKind::kLinkLocal);
    std::vector<std::uint8_t> frame;
    write_frame(*packet, frame);
    frame[offset] = value;
    const PacketRef again = pool.create();
    const char* const text = read_frame(frame.data(), frame.size(), *again);
    return text == nullptr ? "" : text;
  };
  CHECK(error(Shape::kIpv4, 13, 0x06) == "neither IPv4 nor IPv6 nor RoCEv1 nor MAC control");
  CHECK(error(Shape::kIpv4, 14, 0x46) == "no IPv4 header without options");
  CHECK(error(Shape::kIpv4, 22, 0) == "wrong IPv4 header checksum");
  CHECK(error(Shape::kIpv4, 37, 1) == "not to RoCE's UDP port");
  CHECK(error(Shape::kIpv4, 39, 1) == "UDP length does not fit the IP packet");
  CHECK(error(Shape::kIpv4, 42, 0x60) == "no opcode of its transport");
  CHECK(error(Shape::kIpv6, 14, 0x40) == "GRH or IPv6 header of another version");
  CHECK(error(Shape::kIpv6, 20, 0x1b) == "another next header");
  CHECK(error(Shape::kRoceV1, 20, 17) == "another next header");
  CHECK(error(Shape::kRoceV1, 18, 0xff) == "payload length does not fit the frame");
  CHECK(error(Shape::kRoceV1, 19, 87) == "payload and pad are no multiple of four");
  CHECK(error(Shape::kRoceV1, 37, 0xff) == "GIDs that follow from no address of the ports");
  CHECK(error(Shape::kRoceV1, 21, 0).empty());
}

}  // namespace
}  // namespace rnicsim
