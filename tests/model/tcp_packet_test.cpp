// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/byte_order.h"
#include "model/frame.h"
#include "model/icrc.h"
#include "model/packet.h"
#include "model/tcp_checksum.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

TcpHeader header() {
  TcpHeader header;
  header.source_port = 40000;
  header.destination_port = 80;
  header.sequence = TcpSeq(1);
  header.ack = true;
  header.window = 1000;
  return header;
}

PacketRef make(PacketPool& pool, const TcpHeader& header, std::uint64_t length,
               bool elided = false) {
  PacketRef packet = pool.create();
  packet->eth.source = {2, 0, 0, 0, 0, 1};
  packet->eth.destination = {2, 0, 0, 0, 0, 2};
  packet->ipv4.source = Ipv4Address(0x0a000001);
  packet->ipv4.destination = Ipv4Address(0x0a000002);
  packet->become_tcp(header, Bytes(length), elided);
  for (std::uint64_t i = 0; !elided && i < length; ++i)
    packet->payload()[i] = static_cast<std::uint8_t>(7 * i + 3);
  seal_icrc(*packet);
  return packet;
}

std::vector<std::uint8_t> frame_of(const Packet& packet) {
  std::vector<std::uint8_t> frame;
  write_frame(packet, frame);
  return frame;
}

}  // namespace

TEST_CASE("A segment is as long as its headers, options and data, with nothing of RoCE") {
  PacketPool pool;
  CHECK(make(pool, header(), 0)->ip_bytes() == 40_B);
  CHECK(make(pool, header(), 0)->frame_bytes() == 64_B);
  TcpHeader stamped = header();
  stamped.has_timestamps = true;
  const PacketRef full = make(pool, stamped, 1448);
  CHECK(full->ip_bytes() == 1500_B);
  CHECK(full->frame_bytes() == 1518_B);
  CHECK(full->wire_bytes() == 1538_B);
  CHECK(make(pool, header(), 1447)->ip_bytes() == 1487_B);
}

TEST_CASE("A segment's ports are where switches look for those of a flow") {
  PacketPool pool;
  const PacketRef packet = make(pool, header(), 1);
  CHECK(packet->is_tcp());
  CHECK(packet->udp.source_port == 40000);
  CHECK(packet->udp.destination_port == 80);
  CHECK_FALSE(pool.create()->is_tcp());
}

TEST_CASE("A jumbo segment has room for its bytes in a packet that had a smaller one") {
  PacketPool pool;
  Packet* const small = make(pool, header(), 1448).get();
  const PacketRef jumbo = make(pool, header(), 8960);
  REQUIRE(jumbo.get() == small);
  CHECK(jumbo->payload()[8959] == static_cast<std::uint8_t>(7 * 8959 + 3));
  const PacketRef copy = pool.copy(*jumbo);
  CHECK(frame_of(*copy) == frame_of(*jumbo));
}

TEST_CASE("The frame of a segment is read back as it was") {
  PacketPool pool;
  TcpHeader options = header();
  options.has_timestamps = true;
  options.timestamp = 0x01020304;
  options.sack_blocks = 1;
  options.sack[0] = {TcpSeq(5), TcpSeq(10)};
  for (const std::uint64_t length : {0, 1, 1000}) {
    const PacketRef packet = make(pool, options, length);
    packet->ipv4.ecn = Ecn::kCapable0;
    const auto frame = frame_of(*packet);
    const PacketRef back = pool.create();
    REQUIRE(read_frame(frame.data(), frame.size(), *back) == nullptr);
    CHECK(back->payload_length == Bytes(length));
    CHECK(icrc_ok(*back));
    CHECK(frame_of(*back) == frame);
  }
}

TEST_CASE("TCP's checksum is that of RFC 1071 over pseudo header, header and data") {
  // By hand: 0a00+0001+0a00+0002 (addresses) + 0006 + 0017 (protocol, length 23) + 9c40+0050
  // (ports) + 0000+0001 (sequence) + 0000+0000 + 5010 + 03e8 (window) + 030a+1100 (data).
  PacketPool pool;
  const std::uint32_t sum = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 0x0006 + 0x0017 + 0x9c40 + 0x0050 +
                            0x0001 + 0x5010 + 0x03e8 + 0x030a + 0x1100;
  const auto expected = static_cast<std::uint16_t>(~((sum & 0xffff) + (sum >> 16)));
  const PacketRef packet = make(pool, header(), 3);
  CHECK(compute_tcp_checksum(*packet) == expected);
  CHECK(load_be16(&frame_of(*packet)[14 + 20 + 16]) == expected);
}

TEST_CASE("Damage to a segment is seen, with its bytes and without") {
  PacketPool pool;
  const PacketRef packet = make(pool, header(), 100);
  CHECK(icrc_ok(*packet));
  packet->payload()[50] ^= 0x10;
  CHECK_FALSE(icrc_ok(*packet));
  const PacketRef elided = make(pool, header(), 100, true);
  CHECK(icrc_ok(*elided));
  const std::uint16_t right = tcp_checksum_on_wire(*elided);
  CHECK(right == compute_tcp_checksum(*elided));
  for (const unsigned bit : {0U, 15U, 16U, 31U}) {
    elided->icrc = 1U << bit;
    CHECK_FALSE(icrc_ok(*elided));
    CHECK(tcp_checksum_on_wire(*elided) != right);
  }
}

TEST_CASE("A router's hands leave a segment's checksum right") {
  PacketPool pool;
  const PacketRef packet = make(pool, header(), 10);
  packet->ipv4.ttl = 60;
  packet->ipv4.ecn = Ecn::kCongestion;
  CHECK(icrc_ok(*packet));
}

TEST_CASE("A frame whose options fill the header without padding is refused") {
  PacketPool pool;
  TcpHeader options = header();
  options.has_timestamps = true;
  options.sack_blocks = 3;
  auto frame = frame_of(*make(pool, options, 0));
  // MSS, timestamps and three SACK blocks: 40 B, as many as there can be.
  std::vector<std::uint8_t> full(40, 0);
  const std::vector<std::pair<std::size_t, std::vector<std::uint8_t>>> parts = {
      {0, {2, 4, 5, 180}}, {4, {8, 10}}, {14, {5, 26}}};
  for (const auto& [at, bytes] : parts)
    std::copy(bytes.begin(), bytes.end(), full.begin() + static_cast<std::ptrdiff_t>(at));
  std::copy(full.begin(), full.end(), frame.begin() + 14 + 20 + 20);
  const PacketRef back = pool.create();
  const char* error = read_frame(frame.data(), frame.size(), *back);
  REQUIRE(error != nullptr);
  CHECK(std::string(error).find("padding") != std::string::npos);
}
