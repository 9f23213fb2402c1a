// SPDX-License-Identifier: MIT
// Unreliable connections and datagrams at the responder, and as they are sent.
#include <catch2/catch.hpp>

#include "nic/responder.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::QpOptions;
using test::RcBench;
using test::reliable;

namespace {

constexpr std::uint32_t kQkey = 0x11111111;

QpOptions of(Transport transport) {
  QpOptions options = reliable();
  options.transport = transport;
  options.qkey = kQkey;
  return options;
}

struct Bench : RcBench {
  explicit Bench(Transport transport)
      : RcBench({}, of(transport)),
        wire_transport(transport == Transport::kUc ? WireTransport::kUc : WireTransport::kUd) {}
  PacketRef packet(Opcode opcode, std::uint32_t psn, std::uint32_t bytes) {
    PacketRef made = request(opcode, Psn(psn), bytes);
    made->bth.transport = wire_transport;
    made->bth.ack_req = false;
    made->deth.q_key = kQkey;
    made->deth.source_qp = Qpn(0x321);
    return made;
  }
  PacketRef write(Opcode opcode, std::uint32_t psn, std::uint32_t bytes, std::uint64_t offset,
                  std::uint32_t total) {
    PacketRef made = packet(opcode, psn, bytes);
    made->reth.virtual_address = VirtualAddress(region.start + offset);
    made->reth.r_key = region.key;
    made->reth.dma_length = total;
    return made;
  }
  void post_datagram(std::uint32_t bytes) {
    const abi::DatagramSegment to;
    test::MiniDriver::Write w = work(abi::WqeOpcode::kSend, 0, bytes);
    w.datagram = &to;
    post(w);
  }
  std::uint64_t dropped() { return host.metric("responder.dropped"); }
  WireTransport wire_transport;
};

}  // namespace

// ---- Unreliable connection ----------------------------------------------------------------------

TEST_CASE("an unreliable connection takes WRITEs and SENDs and answers nothing") {
  Bench bench(Transport::kUc);
  bench.post_receive(0x1000, 3000);
  bench.give({bench.write(Opcode::kWriteFirst, 100, 1024, 0x4000, 1100),
              bench.packet(Opcode::kWriteLast, 101, 76),
              bench.packet(Opcode::kSendFirst, 102, 1024),
              bench.packet(Opcode::kSendLast, 103, 8)});
  CHECK(bench.said().empty());
  CHECK(bench.holds(0x4000, 100, 1024));
  CHECK(bench.holds(0x4400, 101, 76));
  CHECK(bench.holds(0x1000, 102, 1024));
  CHECK(bench.completions() == "R0:0 ");
  CHECK(bench.driver().query_qp(Qpn(1)).expected_psn == Psn(104));
}

TEST_CASE("a gap ends the message of an unreliable connection, the next one is taken") {
  Bench bench(Transport::kUc);
  bench.post_receive(0x1000, 3000);
  bench.give({bench.packet(Opcode::kSendFirst, 100, 1024),
              bench.packet(Opcode::kSendLast, 102, 8),  // 101 is lost
              bench.packet(Opcode::kSendOnly, 103, 40)});
  CHECK(bench.said().empty());
  CHECK(bench.dropped() == 1);
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].byte_count == 40);
  CHECK(entries[0].wqe_counter == 0);  // the receive of the message that was lost
  CHECK(bench.holds(0x1000, 103, 40));
}

TEST_CASE("a gap before a first packet loses nothing of its message") {
  Bench bench(Transport::kUc);
  bench.give({bench.write(Opcode::kWriteOnly, 100, 8, 0, 8),
              bench.write(Opcode::kWriteOnly, 107, 8, 64, 8),
              bench.write(Opcode::kWriteOnly, 108, 8, 128, 8)});
  CHECK(bench.holds(64, 107, 8));
  CHECK(bench.holds(128, 108, 8));
  CHECK(bench.dropped() == 0);
  CHECK(bench.host.metric("responder.out_of_sequence") == 1);
}

TEST_CASE(
    "a message too long for its receive is lost, and the next begins at the receive's start") {
  Bench bench(Transport::kUc);
  bench.post_receive(0x1000, 1500);
  bench.give({bench.packet(Opcode::kSendFirst, 100, 1024),
              bench.packet(Opcode::kSendMiddle, 101, 1024), bench.packet(Opcode::kSendLast, 102, 8),
              bench.packet(Opcode::kSendFirst, 103, 1024),
              bench.packet(Opcode::kSendLast, 104, 8)});
  CHECK(bench.said().empty());
  CHECK(bench.dropped() == 2);
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].status == CompletionStatus::kSuccess);
  CHECK(entries[0].byte_count == 1032);
  CHECK(bench.holds(0x1000, 103, 1024));
  CHECK(bench.holds(0x1400, 104, 8));
}

TEST_CASE("a message that begins inside another ends it, and is taken itself") {
  Bench bench(Transport::kUc);
  bench.post_receive(0x1000, 3000);
  bench.give({bench.packet(Opcode::kSendFirst, 100, 1024),
              bench.packet(Opcode::kSendMiddle, 101, 1024),
              bench.packet(Opcode::kSendFirst, 102, 1024),  // 100 had been going on
              bench.write(Opcode::kWriteFirst, 103, 1024, 0x4000, 1032),
              bench.packet(Opcode::kSendLast, 104, 8),  // of no message
              bench.write(Opcode::kWriteOnly, 105, 8, 0x5000, 8),
              bench.packet(Opcode::kSendOnly, 106, 40)});
  CHECK(bench.said().empty());
  CHECK(bench.dropped() == 1);
  CHECK(bench.holds(0x4000, 103, 1024));
  CHECK(bench.holds(0x5000, 105, 8));
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 1);  // they all shared the one receive
  CHECK(entries[0].status == CompletionStatus::kSuccess);
  CHECK(entries[0].byte_count == 40);
  CHECK(bench.holds(0x1000, 106, 40));
}

TEST_CASE("an unreliable connection drops what it may not do, in silence") {
  Bench bench(Transport::kUc);
  PacketRef wrong_key = bench.write(Opcode::kWriteOnly, 100, 8, 0, 8);
  wrong_key->reth.r_key = MemoryKey(3, 1);
  bench.give({wrong_key, bench.packet(Opcode::kSendOnly, 101, 8),  // no receive
              bench.packet(Opcode::kWriteMiddle, 102, 1024)});
  CHECK(bench.said().empty());
  CHECK(bench.dropped() == 3);
  CHECK(bench.payload(true).empty());
  CHECK(bench.state() == QpState::kRts);
  CHECK(bench.completions().empty());
  bench.give({bench.write(Opcode::kWriteOnly, 103, 8, 0, 8)});
  CHECK(bench.holds(0, 103, 8));
}

TEST_CASE("a receive of an unreliable connection that cannot be written fails here only") {
  Bench bench(Transport::kUc);
  bench.driver().post_receive(Qpn(1), {{bench.region.start, 64, MemoryKey(9, 9)}});
  bench.post_receive(0x1000, 64);
  bench.give({bench.packet(Opcode::kSendOnly, 100, 8)});
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "R0:4 R1:5 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a message of an unreliable connection completes when its last packet has left") {
  Bench bench(Transport::kUc);
  bench.RcBench::write(0, 2000);
  bench.post(abi::WqeOpcode::kSend, 0, 8);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE First 100; RDMA WRITE Last 101; SEND Only 102; ");
  CHECK(bench.wire.packets[0]->bth.transport == WireTransport::kUc);
  CHECK_FALSE(bench.wire.packets[2]->bth.ack_req);
  CHECK(bench.completions() == "0:0 1:0 ");
}

TEST_CASE("READs, atomics and SENDs with invalidation are not for unreliable connections") {
  Bench bench(Transport::kUc);
  bench.read(0, 8);
  bench.ring();
  CHECK(bench.completions() == "0:2 ");
  CHECK(bench.said().empty());
}

// ---- Unreliable datagram ------------------------------------------------------------------------

TEST_CASE("a datagram lands behind 40 bytes of GRH, of which the last 20 are its IPv4 header") {
  Bench bench(Transport::kUd);
  bench.post_receive(0x1000, 200);
  PacketRef datagram = bench.packet(Opcode::kSendOnly, 4711, 100);
  datagram->ipv4.source = Ipv4Address(0x0a000005);
  datagram->ipv4.destination = Ipv4Address(0x0a000001);
  datagram->ipv4.dscp = 10;
  bench.give({datagram});
  CHECK(bench.said().empty());
  for (std::uint32_t i = 0; i < 20; ++i) CHECK(bench.byte(0x1000 + i) == 0);
  const std::vector<std::uint8_t> header = bench.bytes_of(0x1000 + 20, 20);
  CHECK(header[0] == 0x45);
  CHECK(ipv4_checksum_ok(header.data()));
  const Ipv4Header ipv4 = Ipv4Header::read(header.data());
  CHECK(ipv4.source.value() == 0x0a000005);
  CHECK(ipv4.destination.value() == 0x0a000001);
  CHECK(ipv4.dscp == 10);
  CHECK(ipv4.total_length == 20 + 8 + 12 + 8 + 100 + 4);
  CHECK(bench.holds(0x1000 + 40, 4711, 100));
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].opcode == abi::CqeOpcode::kResponseSend);
  CHECK(entries[0].byte_count == 140);
  CHECK(entries[0].source_qpn == Qpn(0x321));
  CHECK((entries[0].flags & abi::Cqe::kGrh) != 0);
}

TEST_CASE("a GRH may lie across two segments of a receive") {
  Bench bench(Transport::kUd);
  bench.driver().post_receive(Qpn(1), {bench.segment(0x1000, 30), bench.segment(0x4000, 100)});
  bench.give({bench.packet(Opcode::kSendOnly, 1, 60)});
  CHECK(bench.byte(0x1000 + 20) == 0x45);
  CHECK(bench.holds(0x4000 + 10, 1, 60));
}

TEST_CASE("the immediate data of a datagram stand in the completion entry") {
  Bench bench(Transport::kUd);
  bench.post_receive(0x1000, 200);
  PacketRef datagram = bench.packet(Opcode::kSendOnlyImm, 1, 4);
  datagram->immdt.immediate = 99;
  bench.give({datagram});
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].opcode == abi::CqeOpcode::kResponseSendImm);
  CHECK(entries[0].immediate == 99);
}

TEST_CASE("the PSNs of datagrams mean nothing") {
  Bench bench(Transport::kUd);
  for (int i = 0; i < 3; ++i) bench.post_receive(0x1000, 200);
  bench.give({bench.packet(Opcode::kSendOnly, 7, 4), bench.packet(Opcode::kSendOnly, 3, 4),
              bench.packet(Opcode::kSendOnly, 3, 4)});
  CHECK(bench.completions() == "R0:0 R1:0 R2:0 ");
}

TEST_CASE("a datagram with a wrong qkey is dropped and takes no receive") {
  Bench bench(Transport::kUd);
  bench.post_receive(0x1000, 200);
  PacketRef datagram = bench.packet(Opcode::kSendOnly, 1, 4);
  datagram->deth.q_key = kQkey + 1;
  bench.give({datagram});
  CHECK(bench.dropped() == 1);
  CHECK(bench.completions().empty());
  CHECK(bench.state() == QpState::kRts);
}

TEST_CASE("a datagram longer than the path MTU is dropped and takes no receive") {
  Bench bench(Transport::kUd);
  bench.post_receive(0x1000, 4000);
  bench.give({bench.packet(Opcode::kSendOnly, 1, 1025)});
  CHECK(bench.dropped() == 1);
  CHECK(bench.completions().empty());
}

TEST_CASE("a datagram that finds no receive is dropped") {
  Bench bench(Transport::kUd);
  bench.give({bench.packet(Opcode::kSendOnly, 1, 4)});
  CHECK(bench.dropped() == 1);
  CHECK(bench.said().empty());
  bench.post_receive(0x1000, 200);
  bench.give({bench.packet(Opcode::kSendOnly, 2, 4)});
  CHECK(bench.completions() == "R0:0 ");
}

TEST_CASE("a datagram that its receive has no room for, GRH included, is a local length error") {
  Bench bench(Transport::kUd);
  bench.post_receive(0x1000, 139);
  bench.post_receive(0x1000, 140);
  bench.give({bench.packet(Opcode::kSendOnly, 1, 100), bench.packet(Opcode::kSendOnly, 2, 100)});
  CHECK(bench.completions() == "R0:1 R1:0 ");
  CHECK(bench.holds(0x1000 + 40, 2, 100));
}

TEST_CASE("a datagram whose receive cannot be written fails here") {
  Bench bench(Transport::kUd);
  bench.driver().post_receive(Qpn(1), {{bench.region.start, 200, MemoryKey(9, 9)}});
  bench.give({bench.packet(Opcode::kSendOnly, 1, 8)});
  CHECK(bench.completions() == "R0:4 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a datagram is sent to where its address vector says and completes when it has left") {
  Bench bench(Transport::kUd);
  abi::DatagramSegment to;
  to.qkey = 5;
  to.qpn = Qpn(0x77);
  to.ip = Ipv4Address(0x0a000009);
  to.udp_source_port = 50000;
  to.dscp = 26;
  to.mac = {2, 0, 0, 0, 0, 9};
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kSendImm, 0, 100);
  w.datagram = &to;
  w.immediate = 1234;
  bench.post(w);
  bench.ring();
  CHECK(bench.said() == "SEND Only with Immediate 100; ");
  const Packet& sent = *bench.wire.packets[0];
  CHECK(sent.bth.transport == WireTransport::kUd);
  CHECK(sent.bth.dest_qp == Qpn(0x77));
  CHECK(sent.deth.q_key == 5);
  CHECK(sent.deth.source_qp == Qpn(1));
  CHECK(sent.ipv4.destination.value() == 0x0a000009);
  CHECK(sent.ipv4.dscp == 26);
  CHECK(sent.udp.source_port == 50000);
  CHECK(sent.eth.destination == to.mac);
  CHECK(sent.immdt.immediate == 1234);
  CHECK(bench.sent() == bench.bytes_of(0, 100));
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("a datagram of more than the path MTU fails at home") {
  Bench bench(Transport::kUd);
  const abi::DatagramSegment to;
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kSend, 0, 1025);
  w.datagram = &to;
  bench.post(w);
  bench.ring();
  CHECK(bench.completions() == "0:1 ");
  CHECK(bench.said().empty());
}

// ---- A send queue in error ----------------------------------------------------------------------

TEST_CASE("a datagram that fails at home stops its send queue alone, until it is started again") {
  Bench bench(Transport::kUd);
  bench.post_datagram(100);
  bench.post_datagram(1025);
  for (int i = 0; i < 2; ++i) bench.post_datagram(100);
  bench.ring();
  CHECK(bench.said() == "SEND Only 100; ");
  CHECK(bench.completions() == "0:0 2:1 4:5 6:5 ");
  CHECK(bench.state() == QpState::kSqe);

  bench.post_datagram(100);
  bench.ring();
  CHECK(bench.completions() == "8:5 ");
  bench.post_receive(0x1000, 200);
  bench.give({bench.packet(Opcode::kSendOnly, 7, 100)});
  CHECK(bench.completions() == "R0:0 ");
  CHECK(bench.said().empty());
  CHECK(bench.host.nic.idle());

  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kRts) == abi::CommandStatus::kOk);
  for (int i = 0; i < 2; ++i) bench.post_datagram(100);
  bench.ring();
  CHECK(bench.said() == "SEND Only 101; SEND Only 102; ");
  CHECK(bench.completions() == "10:0 12:0 ");
  CHECK(bench.state() == QpState::kRts);
}

TEST_CASE("a send queue in error may fail again, and be given up, which flushes the receives too") {
  Bench bench(Transport::kUd);
  bench.post_receive(0x1000, 200);
  for (const char* completed : {"0:1 ", "2:1 "}) {
    bench.post_datagram(1025);
    bench.ring();
    CHECK(bench.completions() == completed);
    CHECK(bench.state() == QpState::kSqe);
    REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kSqd) == abi::CommandStatus::kBadState);
    REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kRts) == abi::CommandStatus::kOk);
  }
  bench.post_datagram(1025);
  bench.ring();
  CHECK(bench.completions() == "4:1 ");
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  CHECK(bench.completions() == "R0:5 ");
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("a local failure of an unreliable connection stops what it sends, not what it receives") {
  Bench bench(Transport::kUc);
  bench.RcBench::write(0, 2000);
  test::MiniDriver::Write wrong = bench.work(abi::WqeOpcode::kRdmaWrite, 0, 8);
  wrong.gather[0].key = MemoryKey(9, 9);
  bench.post(wrong);
  bench.RcBench::write(0, 8);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE First 100; RDMA WRITE Last 101; ");
  CHECK(bench.completions() == "0:0 1:4 2:5 ");
  CHECK(bench.state() == QpState::kSqe);

  bench.give({bench.write(Opcode::kWriteOnly, 100, 8, 64, 8)});
  CHECK(bench.holds(64, 100, 8));
  CHECK(bench.completions().empty());

  // The packets that never left had numbers; the far side takes the next message all the same.
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kRts) == abi::CommandStatus::kOk);
  bench.RcBench::write(0, 8);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE Only 104; ");
  CHECK(bench.completions() == "3:0 ");
}

TEST_CASE("a message of several packets that fails in its middle completes once, in error") {
  Bench bench(Transport::kUc);
  test::MiniDriver::Write half = bench.work(abi::WqeOpcode::kSend, 0, 1024);
  half.gather.push_back({bench.region.start, 3000, MemoryKey(9, 9)});
  bench.post(half);
  bench.post(abi::WqeOpcode::kSend, 0, 8);
  bench.ring();
  CHECK(bench.said() == "SEND First 100; ");
  CHECK(bench.completions() == "0:4 1:5 ");
  CHECK(bench.state() == QpState::kSqe);
}
