// SPDX-License-Identifier: MIT
#include "model/headers.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/byte_order.h"

namespace rnicsim {
namespace {

using Image = std::vector<std::uint8_t>;

template <class Header>
Image written(const Header& header) {
  Image bytes(Header::kBytes + 1, 0xee);
  header.write(bytes.data());
  REQUIRE(bytes.back() == 0xee);
  bytes.pop_back();
  return bytes;
}

/// Asserts the exact bytes, and that reading and writing them again loses nothing.
template <class Header>
void check_image(const Header& header, const Image& expected) {
  REQUIRE(written(header) == expected);
  REQUIRE(written(Header::read(expected.data())) == expected);
}

TEST_CASE("Loads and stores keep their byte order") {
  std::uint8_t bytes[8] = {};
  store_be64(bytes, 0x0102030405060708);
  REQUIRE(Image(bytes, bytes + 8) == Image{1, 2, 3, 4, 5, 6, 7, 8});
  REQUIRE(load_be16(bytes) == 0x0102);
  REQUIRE(load_be24(bytes) == 0x010203);
  REQUIRE(load_be32(bytes) == 0x01020304);
  REQUIRE(load_be64(bytes) == 0x0102030405060708);
  store_le64(bytes, 0xf1f2f3f4f5f6f7f8);
  REQUIRE(Image(bytes, bytes + 8) == Image{0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1});
  REQUIRE(load_le16(bytes) == 0xf7f8);
  REQUIRE(load_le32(bytes) == 0xf5f6f7f8);
  REQUIRE(load_le64(bytes) == 0xf1f2f3f4f5f6f7f8);
  store_le16(bytes, 0x1122);
  store_le32(bytes + 2, 0x33445566);
  REQUIRE(Image(bytes, bytes + 6) == Image{0x22, 0x11, 0x66, 0x55, 0x44, 0x33});
}

TEST_CASE("An Ethernet header has the bytes of IEEE 802.3") {
  EthernetHeader header;
  header.destination = {1, 2, 3, 4, 5, 6};
  header.source = {0xa, 0xb, 0xc, 0xd, 0xe, 0xf};
  check_image(header, {1, 2, 3, 4, 5, 6, 0xa, 0xb, 0xc, 0xd, 0xe, 0xf, 0x08, 0x00});
}

TEST_CASE("An IPv4 header carries the checksum that RFC 791 asks for") {
  Ipv4Header header;  // the well-known example 45 00 00 73 00 00 40 00 40 11 b8 61 ...
  header.total_length = 0x73;
  header.source = Ipv4Address(0xc0a80001);
  header.destination = Ipv4Address(0xc0a800c7);
  const Image expected = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                          0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
  check_image(header, expected);
  REQUIRE(ipv4_checksum_ok(expected.data()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Image damaged = expected;
    damaged[i] ^= 0x10;
    REQUIRE_FALSE(ipv4_checksum_ok(damaged.data()));
  }
}

TEST_CASE("An IPv4 header keeps DSCP, ECN, identification and time to live") {
  Ipv4Header header;
  header.dscp = 26;
  header.ecn = Ecn::kCongestion;
  header.identification = 0xbeef;
  header.dont_fragment = false;
  header.ttl = 3;
  const Image bytes = written(header);
  REQUIRE(bytes[1] == 0x6b);
  REQUIRE(load_be16(&bytes[4]) == 0xbeef);
  REQUIRE(load_be16(&bytes[6]) == 0);
  REQUIRE(bytes[8] == 3);
  REQUIRE(ipv4_checksum_ok(bytes.data()));
  const Ipv4Header again = Ipv4Header::read(bytes.data());
  REQUIRE(again.dscp == 26);
  REQUIRE(again.ecn == Ecn::kCongestion);
  REQUIRE_FALSE(again.dont_fragment);
}

TEST_CASE("An LRH has the bytes of IBTA 7.7") {
  Lrh header;
  header.virtual_lane = 0x7;
  header.service_level = 0xb;
  header.destination = 0x1234;
  header.words = 0x7ab;
  header.source = 0xbfff;
  check_image(header, {0x70, 0xb2, 0x12, 0x34, 0x07, 0xab, 0xbf, 0xff});
  const Image bytes = written(header);
  const Lrh again = Lrh::read(bytes.data());
  REQUIRE(again.virtual_lane == 0x7);
  REQUIRE(again.service_level == 0xb);
  REQUIRE(again.next_header == Lrh::kNextHeaderBth);
  REQUIRE(again.destination == 0x1234);
  REQUIRE(again.words == 0x7ab);
  REQUIRE(again.source == 0xbfff);
}

TEST_CASE("A UDP header of RoCEv2 goes to port 4791") {
  UdpHeader header;
  header.source_port = 0xc001;
  header.length = 0x0102;
  check_image(header, {0xc0, 0x01, 0x12, 0xb7, 0x01, 0x02, 0, 0});
}

TEST_CASE("A BTH has the bytes of IBTA 9.2") {
  Bth bth;
  bth.opcode = Opcode::kWriteOnly;
  bth.pad_count = 3;
  bth.dest_qp = Qpn(0x010203);
  bth.ack_req = true;
  bth.psn = Psn(0xfffffe);
  check_image(bth, {0x0a, 0x70, 0xff, 0xff, 0, 1, 2, 3, 0x80, 0xff, 0xff, 0xfe});
  bth.solicited_event = true;
  bth.mig_req = false;
  bth.pad_count = 0;
  bth.p_key = 0x8001;
  bth.fecn = true;
  bth.ack_req = false;
  check_image(bth, {0x0a, 0x80, 0x80, 0x01, 0x80, 1, 2, 3, 0, 0xff, 0xff, 0xfe});
  bth.fecn = false;
  bth.becn = true;
  check_image(bth, {0x0a, 0x80, 0x80, 0x01, 0x40, 1, 2, 3, 0, 0xff, 0xff, 0xfe});
}

TEST_CASE("The top three bits of the opcode byte are the transport") {
  Bth bth;
  const auto opcode_byte = [&](WireTransport transport, Opcode opcode) {
    bth.transport = transport;
    bth.opcode = opcode;
    return written(bth)[0];
  };
  REQUIRE(opcode_byte(WireTransport::kUc, Opcode::kWriteOnlyImm) == 0x2b);
  REQUIRE(opcode_byte(WireTransport::kUd, Opcode::kSendOnly) == 0x64);
  REQUIRE(opcode_byte(WireTransport::kUd, Opcode::kSendOnlyImm) == 0x65);
  REQUIRE(opcode_byte(WireTransport::kCnp, kCnpOpcode) == 0x81);
  for (unsigned byte = 0; byte < 256; ++byte) {
    Image bytes = written(Bth{});
    bytes[0] = static_cast<std::uint8_t>(byte);
    const Bth read = Bth::read(bytes.data());
    REQUIRE(opcode_byte(read.transport, read.opcode) == byte);
  }
}

TEST_CASE("A GRH has the bytes of an IPv6 header") {
  Grh header;
  header.traffic_class = 0xab;
  header.flow_label = 0x12345;
  header.payload_length = 0x0678;
  header.hop_limit = 0x3f;
  header.source = ipv4_mapped_gid(Ipv4Address(0x0a010203));
  header.destination = link_local_gid({0x02, 0x11, 0x22, 0x33, 0x44, 0x55});
  check_image(header, {0x6a, 0xb1, 0x23, 0x45, 0x06, 0x78, 0x1b, 0x3f, 0,    0,    0,    0,    0, 0,
                       0,    0,    0,    0,    0xff, 0xff, 0x0a, 1,    2,    3,    0xfe, 0x80, 0, 0,
                       0,    0,    0,    0,    0,    0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55});
}

TEST_CASE("A link-local GID inverts the universal bit of the MAC address") {
  REQUIRE(link_local_gid({0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde}) ==
          Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x36, 0x56, 0x78, 0xff, 0xfe, 0x9a, 0xbc, 0xde});
}

TEST_CASE("A unique local GID is a site's prefix and the IPv4 address") {
  REQUIRE(unique_local_gid(Ipv4Address(0x0a000102)) ==
          Gid{0xfd, 0x72, 0x6e, 0x69, 0x63, 0x73, 0, 0, 0, 0, 0, 0, 10, 0, 1, 2});
}

TEST_CASE("RETH, AETH and ImmDt have the bytes of IBTA 9.3") {
  Reth reth;
  reth.virtual_address = VirtualAddress(0x0102030405060708);
  reth.r_key = MemoryKey(0x11223344);
  reth.dma_length = 0x40000000;
  check_image(reth, {1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x22, 0x33, 0x44, 0x40, 0, 0, 0});
  check_image(Aeth::ack(0x123456), {0x1f, 0x12, 0x34, 0x56});
  check_image(ImmDt{0xdeadbeef}, {0xde, 0xad, 0xbe, 0xef});
}

TEST_CASE("AtomicETH, AtomicAckETH, DETH and IETH have the bytes of IBTA 9.3") {
  AtomicEth atomic;
  atomic.virtual_address = VirtualAddress(0x0102030405060708);
  atomic.r_key = MemoryKey(0x11223344);
  atomic.swap_or_add = 0x2122232425262728;
  atomic.compare = 0x3132333435363738;
  check_image(atomic,
              {1,    2,    3,    4,    5,    6,    7,    8,    0x11, 0x22, 0x33, 0x44, 0x21, 0x22,
               0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38});
  check_image(AtomicAckEth{0x4142434445464748}, {0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48});
  check_image(Deth{0x11111111, Qpn(0xabcdef)}, {0x11, 0x11, 0x11, 0x11, 0, 0xab, 0xcd, 0xef});
  check_image(Ieth{MemoryKey(0xcafe0001)}, {0xca, 0xfe, 0, 1});
}

TEST_CASE("Headers have their published sizes") {
  REQUIRE(EthernetHeader::kBytes == 14);
  REQUIRE(kFcsBytes == Bytes(4));
  REQUIRE(kPreambleBytes == Bytes(8));
  REQUIRE(kInterPacketGapBytes == Bytes(12));
  REQUIRE(Ipv4Header::kBytes == 20);
  REQUIRE(Grh::kBytes == 40);
  REQUIRE(UdpHeader::kBytes == 8);
  REQUIRE(kRoceUdpPort == 4791);
  REQUIRE(kEtherTypeRoceV1 == 0x8915);
  REQUIRE(Bth::kBytes == 12);
  REQUIRE(Reth::kBytes == 16);
  REQUIRE(Aeth::kBytes == 4);
  REQUIRE(ImmDt::kBytes == 4);
  REQUIRE(Ieth::kBytes == 4);
  REQUIRE(Deth::kBytes == 8);
  REQUIRE(AtomicEth::kBytes == 28);
  REQUIRE(AtomicAckEth::kBytes == 8);
  REQUIRE(kIcrcBytes == Bytes(4));
  REQUIRE(kCnpReservedBytes == 16);
}

TEST_CASE("A syndrome tells ACK, RNR NAK and NAK apart") {
  const Aeth ack = Aeth::ack(0x1000007, 5);
  REQUIRE(ack.is_ack());
  REQUIRE(ack.value() == 5);
  REQUIRE(ack.msn == 7);
  const Aeth rnr = Aeth::rnr_nak(1, 12);
  REQUIRE(rnr.syndrome == 0x2c);
  REQUIRE(rnr.is_rnr_nak());
  REQUIRE(rnr.value() == 12);
  const Aeth nak = Aeth::nak(1, NakCode::kRemoteAccessError);
  REQUIRE(nak.syndrome == 0x62);
  REQUIRE(nak.is_nak());
  REQUIRE(nak.nak_code() == NakCode::kRemoteAccessError);
  REQUIRE(std::string(name_of(NakCode::kPsnSequenceError)) == "PSN sequence error");
  for (unsigned syndrome = 0; syndrome < 256; ++syndrome) {
    const Aeth aeth{static_cast<std::uint8_t>(syndrome), 0};
    REQUIRE(aeth.is_ack() + aeth.is_rnr_nak() + aeth.is_nak() <= 1);
    REQUIRE(aeth.is_ack() == (syndrome < 0x20));
  }
}

TEST_CASE("Extension headers add up to their sizes") {
  const auto bytes_of = [](Opcode opcode, WireTransport transport = WireTransport::kRc) {
    Bth bth;
    bth.opcode = opcode;
    bth.transport = transport;
    return extension_bytes(bth);
  };
  REQUIRE(bytes_of(Opcode::kWriteFirst) == 16);
  REQUIRE(bytes_of(Opcode::kWriteMiddle) == 0);
  REQUIRE(bytes_of(Opcode::kWriteLastImm) == 4);
  REQUIRE(bytes_of(Opcode::kWriteOnlyImm) == 20);
  REQUIRE(bytes_of(Opcode::kWriteOnlyImm, WireTransport::kUc) == 20);
  REQUIRE(bytes_of(Opcode::kAcknowledge) == 4);
  REQUIRE(bytes_of(Opcode::kAtomicAcknowledge) == 12);
  REQUIRE(bytes_of(Opcode::kCompareSwap) == 28);
  REQUIRE(bytes_of(Opcode::kFetchAdd) == 28);
  REQUIRE(bytes_of(Opcode::kSendOnlyInvalidate) == 4);
  REQUIRE(bytes_of(Opcode::kSendOnly, WireTransport::kUd) == 8);
  REQUIRE(bytes_of(Opcode::kSendOnlyImm, WireTransport::kUd) == 12);
  REQUIRE(bytes_of(kCnpOpcode, WireTransport::kCnp) == 0);
  REQUIRE(bytes_of(static_cast<Opcode>(0xff)) == 0);
  for (unsigned byte = 0; byte < 256; ++byte)
    REQUIRE(bytes_of(static_cast<Opcode>(byte & 0x1f), static_cast<WireTransport>(byte >> 5)) <=
            kMaxExtensionBytes);
}

}  // namespace
}  // namespace rnicsim
