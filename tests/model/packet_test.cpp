// SPDX-License-Identifier: MIT
#include "model/packet.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "model/frame.h"

namespace rnicsim {
namespace {

using namespace literals;

PacketRef make(PacketPool& pool, Opcode opcode, Bytes length) {
  PacketRef packet = pool.create();
  packet->bth.opcode = opcode;
  packet->set_payload_length(length);
  return packet;
}

TEST_CASE("A full WRITE packet takes 4178 B of the wire at path MTU 4096, first takes 16 B more") {
  PacketPool pool;
  // 14 + 20 + 8 + 12 + 4096 + 4 + 4 = 4158, and 8 + 12 around it.
  REQUIRE(make(pool, Opcode::kWriteMiddle, 4_KiB)->frame_bytes() == 4158_B);
  REQUIRE(make(pool, Opcode::kWriteMiddle, 4_KiB)->wire_bytes() == 4178_B);
  REQUIRE(make(pool, Opcode::kWriteLast, 4_KiB)->wire_bytes() == 4178_B);
  REQUIRE(make(pool, Opcode::kWriteFirst, 4_KiB)->wire_bytes() == 4194_B);
  REQUIRE(make(pool, Opcode::kWriteOnly, 4_KiB)->wire_bytes() == 4194_B);
  REQUIRE(make(pool, Opcode::kWriteOnlyImm, 4_KiB)->wire_bytes() == 4198_B);
}

TEST_CASE("IPv6 costs 20 B more than IPv4, RoCEv1 12 B more") {
  PacketPool pool;
  const PacketRef packet = make(pool, Opcode::kWriteOnly, 4_KiB);
  REQUIRE(packet->frame_bytes() == 4174_B);
  packet->ip_version = IpVersion::kIpv6;
  REQUIRE(packet->ip_bytes() == Bytes(40 + 8 + 12 + 16 + 4096 + 4));
  REQUIRE(packet->frame_bytes() == 4194_B);
  packet->link_layer = LinkLayer::kRoceV1;
  REQUIRE(packet->ip_bytes() == Bytes(40 + 12 + 16 + 4096 + 4));
  REQUIRE(packet->frame_bytes() == 4186_B);
  REQUIRE(packet->wire_bytes() == 4206_B);
}

TEST_CASE("InfiniBand costs 26 B a packet, has no least length and needs no gap") {
  PacketPool pool;
  const PacketRef packet = make(pool, Opcode::kWriteMiddle, 4_KiB);
  packet->link_layer = LinkLayer::kInfiniBand;
  REQUIRE(packet->frame_bytes() == Bytes(8 + 12 + 4096 + 4 + 2));
  REQUIRE(packet->wire_bytes() == packet->frame_bytes());
  REQUIRE_FALSE(packet->has_grh());
  const PacketRef answer = make(pool, Opcode::kAcknowledge, 0_B);
  answer->link_layer = LinkLayer::kInfiniBand;
  REQUIRE(answer->wire_bytes() == Bytes(8 + 12 + 4 + 4 + 2));
  const PacketRef flow_control = pool.create();
  flow_control->kind = FrameKind::kCredit;
  flow_control->link_layer = LinkLayer::kInfiniBand;
  REQUIRE(flow_control->wire_bytes() == 6_B);
}

TEST_CASE("The fields of a packet stay small, since every packet copies them") {
  REQUIRE(sizeof(PacketFields) <= 184);
}

TEST_CASE("A payload is padded to a multiple of four") {
  PacketPool pool;
  for (const auto& [length, pad] : {std::pair{1, 3}, {2, 2}, {3, 1}, {4, 0}, {4095, 1}}) {
    const PacketRef packet = make(pool, Opcode::kWriteOnly, Bytes(length));
    REQUIRE(packet->bth.pad_count == pad);
    REQUIRE(packet->frame_bytes() == Bytes(14 + 20 + 8 + 12 + 16 + length + pad + 4 + 4));
  }
}

TEST_CASE("No frame is shorter than 64 B") {
  PacketPool pool;
  REQUIRE(make(pool, Opcode::kAcknowledge, 0_B)->frame_bytes() == 66_B);
  const PacketRef empty = make(pool, Opcode::kSendOnly, 0_B);
  REQUIRE(empty->ip_bytes() == 44_B);
  REQUIRE(empty->frame_bytes() == 64_B);
  REQUIRE(empty->wire_bytes() == 84_B);
  std::vector<std::uint8_t> frame;
  write_frame(*empty, frame);
  REQUIRE(frame.size() == 60);
}

TEST_CASE("A created packet has every field at its default whatever its last use left") {
  PacketPool pool;
  PacketRef packet = make(pool, Opcode::kWriteOnly, 9_B);
  const Packet* const first = packet.get();
  packet->eth.source = {1, 2, 3, 4, 5, 6};
  packet->ipv4.dscp = 26;
  packet->udp.source_port = 7;
  packet->link_layer = LinkLayer::kRoceV1;
  packet->ip_version = IpVersion::kIpv6;
  packet->gid_kind = GidKind::kLinkLocal;
  packet->bth.transport = WireTransport::kUd;
  packet->reth.dma_length = 9;
  packet->atomic.compare = 9;
  packet->deth.q_key = 9;
  packet->aeth = Aeth::nak(3, NakCode::kInvalidRequest);
  packet->icrc = 5;
  packet->payload_elided = true;
  packet->kind = FrameKind::kPause;
  packet->tagged = true;
  packet->vlan = {3, true, 9};
  packet->bad_fcs = true;
  packet->priority = 3;
  packet->ingress = 4;
  packet->head = 1_ns;
  packet->tail = 2_ns;
  packet->work_request = WorkRequestId(4);
  packet->id = packet_id(1, 2);
  packet.reset();
  packet = pool.create();
  REQUIRE(packet.get() == first);
  REQUIRE(packet->eth.source == MacAddress{});
  REQUIRE(packet->ipv4.dscp == 0);
  REQUIRE(packet->ipv4.ttl == 64);
  REQUIRE(packet->udp.source_port == 0);
  REQUIRE(packet->udp.destination_port == 4791);
  REQUIRE(packet->bth.opcode == Opcode::kSendFirst);
  REQUIRE(packet->bth.pad_count == 0);
  REQUIRE(packet->link_layer == LinkLayer::kRoceV2);
  REQUIRE(packet->ip_version == IpVersion::kIpv4);
  REQUIRE(packet->gid_kind == GidKind::kIpv4Mapped);
  REQUIRE(packet->bth.transport == WireTransport::kRc);
  REQUIRE(packet->reth.dma_length == 0);
  REQUIRE(packet->atomic.compare == 0);
  REQUIRE(packet->deth.q_key == 0);
  REQUIRE(packet->aeth.is_ack());
  REQUIRE(packet->payload_length == 0_B);
  REQUIRE(packet->icrc == 0);
  REQUIRE_FALSE(packet->payload_elided);
  REQUIRE(packet->kind == FrameKind::kData);
  REQUIRE_FALSE(packet->tagged);
  REQUIRE(packet->vlan.control() == 0);
  REQUIRE_FALSE(packet->bad_fcs);
  REQUIRE(packet->priority == 0);
  REQUIRE(packet->ingress == 0);
  REQUIRE(packet->head == Time());
  REQUIRE(packet->tail == Time());
  REQUIRE_FALSE(packet->work_request);
  REQUIRE(packet->id == 0);
}

TEST_CASE("The last reference returns a packet to its pool") {
  PacketPool pool;
  PacketRef a = pool.create();
  REQUIRE(pool.outstanding() == 1);
  PacketRef b = a;
  REQUIRE(a == b);
  PacketRef c = std::move(a);
  REQUIRE_FALSE(a);  // NOLINT(bugprone-use-after-move): moving empties a reference
  REQUIRE(c == b);
  b.reset();
  REQUIRE(pool.outstanding() == 1);
  PacketRef& same = c;
  c = same;
  REQUIRE(pool.outstanding() == 1);
  b = pool.create();
  REQUIRE(b != c);
  REQUIRE(pool.outstanding() == 2);
  c = std::move(b);
  REQUIRE(pool.outstanding() == 1);
  c = PacketRef();
  REQUIRE(pool.outstanding() == 0);
}

TEST_CASE("A pool makes no more packets than are in use at once, and keeps payload buffers") {
  PacketPool pool;
  std::vector<PacketRef> held;
  held.reserve(200);
  for (int i = 0; i < 200; ++i) held.push_back(pool.create());
  REQUIRE(pool.outstanding() == 200);
  const std::size_t capacity = pool.capacity();
  REQUIRE(capacity >= 200);
  held.clear();
  REQUIRE(pool.outstanding() == 0);
  const std::uint8_t* buffer = nullptr;
  for (int i = 0; i < 10000; ++i) {
    const PacketRef packet = pool.create();
    if (buffer == nullptr) {
      REQUIRE(std::as_const(*packet).payload() == nullptr);
      buffer = packet->payload();
    }
    REQUIRE(packet->payload() == buffer);
  }
  REQUIRE(pool.capacity() == capacity);
}

TEST_CASE("A packet queue is first in, first out, and owns what is in it") {
  PacketPool pool;
  PacketRef kept;
  {
    PacketQueue queue;
    REQUIRE(queue.empty());
    for (std::uint32_t round = 0; round < 3; ++round) {
      for (std::uint32_t i = 0; i < 100; ++i) {
        PacketRef packet = pool.create();
        packet->bth.psn = Psn(i);
        queue.push(std::move(packet));
        REQUIRE_FALSE(packet);  // NOLINT(bugprone-use-after-move): moving empties a reference
      }
      REQUIRE(pool.outstanding() == 100);
      for (std::uint32_t i = 0; i < 100; ++i) {
        REQUIRE_FALSE(queue.empty());
        REQUIRE(queue.front().bth.psn == Psn(i));
        REQUIRE(queue.take()->bth.psn == Psn(i));
        REQUIRE(pool.outstanding() == 99 - i);
      }
      REQUIRE(queue.empty());
    }
    kept = pool.create();
    queue.push(kept);
    queue.push(pool.create());
    REQUIRE(pool.outstanding() == 2);
  }
  REQUIRE(pool.outstanding() == 1);
  kept.reset();
  REQUIRE(pool.outstanding() == 0);
}

TEST_CASE("Packets of two queues stay apart though they are linked through themselves") {
  PacketPool pool;
  PacketQueue queues[2];
  for (std::uint32_t i = 0; i < 20; ++i) {
    PacketRef packet = pool.create();
    packet->bth.psn = Psn(i);
    queues[i % 2].push(std::move(packet));
    if (i % 5 == 4) queues[1].push(queues[0].take());  // from one into the other
  }
  const auto drain = [](PacketQueue& queue) {
    std::vector<std::uint32_t> psns;
    while (!queue.empty()) psns.push_back(queue.take()->bth.psn.value());
    return psns;
  };
  REQUIRE(drain(queues[0]) == std::vector<std::uint32_t>{8, 10, 12, 14, 16, 18});
  REQUIRE(drain(queues[1]) ==
          std::vector<std::uint32_t>{1, 3, 0, 5, 7, 9, 2, 11, 13, 4, 15, 17, 19, 6});
  REQUIRE(pool.outstanding() == 0);
}

TEST_CASE("An elided payload has its length and no buffer") {
  PacketPool pool;
  PacketRef packet = make(pool, Opcode::kWriteLast, 1001_B);
  packet->payload_elided = true;
  REQUIRE(packet->frame_bytes() == make(pool, Opcode::kWriteLast, 1001_B)->frame_bytes());
  std::vector<std::uint8_t> frame;
  write_frame(*packet, frame);
  REQUIRE(std::as_const(*packet).payload() == nullptr);
  REQUIRE(std::vector<std::uint8_t>(&frame[54], &frame[54 + 1004]) ==
          std::vector<std::uint8_t>(1004, 0));
}

TEST_CASE("A packet's number names its port and its place") {
  REQUIRE(packet_id(0, 1) == 1);
  REQUIRE(packet_id(2, 3) == 0x20000000003);
}

TEST_CASE("A sink stores and forwards unless it says otherwise") {
  struct Sink : PacketSink {
    void receive(PacketRef packet) override { last = std::move(packet); }
    PacketRef last;
  };
  PacketPool pool;
  Sink sink;
  REQUIRE_FALSE(sink.wants_cut_through());
  sink.receive(pool.create());
  REQUIRE(sink.last);
  REQUIRE(pool.outstanding() == 1);
}

}  // namespace
}  // namespace rnicsim
