// SPDX-License-Identifier: MIT
// Against tshark and scapy: wire_format_judge.py.
#include "model/pause_frame.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/frame.h"
#include "model/icrc.h"

namespace rnicsim {
namespace {

using namespace literals;
using Octets = std::vector<std::uint8_t>;

PacketRef make_pause(PacketPool& pool, PauseFrame::Kind kind) {
  PacketRef packet = pool.create();
  packet->kind = FrameKind::kPause;
  packet->eth.destination = kMacControlAddress;
  packet->eth.source = {0x02, 1, 2, 3, 4, 5};
  packet->pause = PauseFrame{kind, 0, {}};
  return packet;
}

Octets bytes_of(const Packet& packet) {
  Octets frame;
  write_frame(packet, frame);
  return frame;
}

std::string error_of(const Octets& frame, Packet& packet) {
  const char* const error = read_frame(frame.data(), frame.size(), packet);
  return error == nullptr ? "" : error;
}

TEST_CASE("A PFC frame is 0x8808, 0x0101, the class vector and eight timers, padded to 64 B") {
  PacketPool pool;
  const PacketRef packet = make_pause(pool, PauseFrame::Kind::kPriority);
  packet->pause.classes = 0x88;
  packet->pause.quanta[3] = 0xffff;
  packet->pause.quanta[7] = 0x1234;
  Octets expected = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 1, 2,    3,   4, 5,
                     0x88, 0x08, 0x01, 0x01, 0x00, 0x88, 0,    0, 0,    0,   0, 0,
                     0xff, 0xff, 0,    0,    0,    0,    0,    0, 0x12, 0x34};
  expected.resize(60);  // and the FCS
  CHECK(bytes_of(*packet) == expected);
  CHECK(packet->frame_bytes() == 64_B);
  CHECK(packet->wire_bytes() == 84_B);
}

TEST_CASE("A PAUSE frame is 0x8808, 0x0001 and one timer, padded to 64 B") {
  PacketPool pool;
  const PacketRef packet = make_pause(pool, PauseFrame::Kind::kGlobal);
  packet->pause.quanta[0] = 0x0102;
  Octets expected = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 1,    2,
                     3,    4,    5,    0x88, 0x08, 0x00, 0x01, 0x01, 0x02};
  expected.resize(60);
  CHECK(bytes_of(*packet) == expected);
  CHECK(packet->frame_bytes() == 64_B);
}

TEST_CASE("A pause frame comes back from its bytes as it was, with a tag and without") {
  PacketPool pool;
  for (const bool tagged : {false, true}) {
    for (const auto kind : {PauseFrame::Kind::kPriority, PauseFrame::Kind::kGlobal}) {
      const PacketRef packet = make_pause(pool, kind);
      packet->tagged = tagged;
      packet->vlan = {7, true, 0x123};
      const bool priority = kind == PauseFrame::Kind::kPriority;
      packet->pause.classes = priority ? 0xa5 : 0;
      for (std::uint16_t p = 0; p < (priority ? kPriorities : 1); ++p)
        packet->pause.quanta[p] = static_cast<std::uint16_t>(0x1100 * (p + 1) + p);
      const Octets frame = bytes_of(*packet);
      REQUIRE(frame.size() == 60);
      const PacketRef again = pool.create();
      REQUIRE(error_of(frame, *again).empty());
      CHECK(again->kind == FrameKind::kPause);
      CHECK(again->tagged == tagged);
      CHECK(again->pause.kind == kind);
      CHECK(again->pause.classes == packet->pause.classes);
      CHECK(again->pause.quanta == packet->pause.quanta);
      CHECK(again->eth.source == packet->eth.source);
      CHECK(again->eth.destination == kMacControlAddress);
      CHECK(bytes_of(*again) == frame);
    }
  }
}

TEST_CASE("What makes MAC control no pause frame is named") {
  PacketPool pool;
  const PacketRef priority = make_pause(pool, PauseFrame::Kind::kPriority);
  const PacketRef global = make_pause(pool, PauseFrame::Kind::kGlobal);
  const auto cut = [&](const Packet& packet, std::size_t size) {
    Octets frame = bytes_of(packet);
    frame.resize(size);
    return error_of(frame, *pool.create());
  };
  CHECK(cut(*priority, 15) == "shorter than a MAC control opcode");
  CHECK(cut(*priority, 14 + 19) == "shorter than a PFC frame");
  CHECK(cut(*priority, 14 + 20).empty());
  CHECK(cut(*global, 14 + 3) == "shorter than a PAUSE frame");
  CHECK(cut(*global, 14 + 4).empty());
  Octets other = bytes_of(*priority);
  other[15] = 2;
  CHECK(error_of(other, *pool.create()) == "no MAC control opcode for pausing");
}

TEST_CASE("An 802.1Q tag is four bytes behind the addresses, and costs as much") {
  PacketPool pool;
  const PacketRef packet = pool.create();
  packet->eth.destination = {0x02, 6, 7, 8, 9, 10};
  packet->eth.source = {0x02, 1, 2, 3, 4, 5};
  packet->bth.opcode = Opcode::kWriteMiddle;
  packet->set_payload_length(1024_B);
  for (std::size_t i = 0; i < 1024; ++i) packet->payload()[i] = static_cast<std::uint8_t>(i);
  seal_icrc(*packet);
  const Octets untagged = bytes_of(*packet);
  packet->tagged = true;
  packet->vlan = {3, true, 0xabc};
  CHECK(packet->frame_bytes() == Bytes(14 + 4 + 20 + 8 + 12 + 1024 + 4 + 4));
  CHECK(packet->wire_bytes() == packet->frame_bytes() + 20_B);
  const Octets frame = bytes_of(*packet);
  Octets expected(untagged.begin(), untagged.begin() + 12);
  for (const std::uint8_t byte : {0x81, 0x00, 0x7a, 0xbc}) expected.push_back(byte);
  expected.insert(expected.end(), untagged.begin() + 12, untagged.end());
  CHECK(frame == expected);
  const PacketRef again = pool.create();
  REQUIRE(error_of(frame, *again).empty());
  CHECK(again->tagged);
  CHECK(again->vlan.priority == 3);
  CHECK(again->vlan.drop_eligible);
  CHECK(again->vlan.id == 0xabc);
  CHECK(icrc_ok(*again));
  CHECK(bytes_of(*again) == frame);
  for (std::size_t size = 14; size < 18; ++size) {
    const Octets cut(frame.begin(), frame.begin() + static_cast<long>(size));
    CHECK(error_of(cut, *pool.create()) == "shorter than an 802.1Q tag");
  }
}

TEST_CASE("A tag counts before a frame is padded to 64 B") {
  PacketPool pool;
  const PacketRef packet = pool.create();
  packet->bth.opcode = Opcode::kSendOnly;
  CHECK(packet->ip_bytes() == 44_B);
  packet->tagged = true;
  CHECK(packet->frame_bytes() == 66_B);
  packet->bth.opcode = Opcode::kAcknowledge;
  CHECK(packet->frame_bytes() == 70_B);
}

}  // namespace
}  // namespace rnicsim
