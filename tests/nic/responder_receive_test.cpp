// SPDX-License-Identifier: MIT
// SENDs and immediate data at the responder of a reliable connection, the test as far requester.
#include <catch2/catch.hpp>

#include "nic/responder.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kNicClock;
using test::kWriteLatency;
using test::QpOptions;
using test::RcBench;
using test::reliable;

namespace {

PacketRef send_only(RcBench& bench, std::uint32_t psn, std::uint32_t bytes) {
  return bench.request(Opcode::kSendOnly, Psn(psn), bytes);
}
PacketRef with_immediate(PacketRef packet, std::uint32_t immediate) {
  packet->immdt.immediate = immediate;
  return packet;
}
abi::Cqe only_entry(RcBench& bench) {
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 1);
  return entries[0];
}

}  // namespace

TEST_CASE("a SEND goes to the oldest receive, completes it and is acknowledged") {
  RcBench bench;
  bench.post_receive(0x1000, 500);
  bench.post_receive(0x2000, 500);
  bench.give({send_only(bench, 100, 300)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; ");
  CHECK(bench.holds(0x1000, 100, 300));
  const abi::Cqe cqe = only_entry(bench);
  CHECK(cqe.opcode == abi::CqeOpcode::kResponseSend);
  CHECK(cqe.status == CompletionStatus::kSuccess);
  CHECK(cqe.byte_count == 300);
  CHECK(cqe.wqe_counter == 0);
  CHECK(cqe.qpn == Qpn(1));
  bench.give({send_only(bench, 101, 500)});
  CHECK(bench.holds(0x2000, 101, 500));
  CHECK(bench.completions() == "R1:0 ");
  CHECK(bench.driver().query_qp(Qpn(1)).receive_consumer == 2);
}

TEST_CASE("the completion entry of a receive is written behind its payload, the answer follows") {
  RcBench bench;
  bench.post_receive(0x1000, 500);
  bench.post_receive(0x1000, 500);
  bench.give({send_only(bench, 100, 64)});
  bench.host.memory.log.clear();
  bench.give({send_only(bench, 101, 64)});
  const auto data = bench.payload(true);
  const auto entry = bench.host.memory.of(DmaPurpose::kCompletionQueue);
  REQUIRE(data.size() == 1);
  REQUIRE(entry.size() == 1);
  CHECK(entry[0].begin == kNicClock.after(data[0].end, Cycles(6)));
  CHECK(bench.start(1) == kNicClock.after(data[0].end, Cycles(8)));
}

TEST_CASE("a SEND of several packets fills the segments of one receive in order") {
  RcBench bench;
  bench.driver().post_receive(Qpn(1), {bench.segment(0x1000, 1500), bench.segment(0x4000, 1500)});
  bench.give({bench.request(Opcode::kSendFirst, Psn(100), 1024),
              bench.request(Opcode::kSendMiddle, Psn(101), 1024),
              bench.request(Opcode::kSendLast, Psn(102), 200)});
  CHECK(bench.said() == "Acknowledge 102 1f/1; ");
  CHECK(bench.holds(0x1000, 100, 1024));
  for (std::uint32_t i = 0; i < 1024; ++i) {
    const std::uint64_t at = i < 476 ? 0x1000 + 1024 + i : 0x4000 + i - 476;
    REQUIRE(bench.byte(at) == static_cast<std::uint8_t>(101 * 7 + i));
  }
  CHECK(bench.holds(0x4000 + 548, 102, 200));
  const abi::Cqe cqe = only_entry(bench);
  CHECK(cqe.byte_count == 2248);
}

TEST_CASE("a SEND of nothing takes a receive and writes no memory") {
  RcBench bench;
  bench.post_receive(0x1000, 500);
  bench.give({send_only(bench, 100, 0)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; ");
  CHECK(only_entry(bench).byte_count == 0);
  CHECK(bench.payload(true).empty());
}

TEST_CASE("immediate data and invalidated keys stand in the completion entry") {
  RcBench bench;
  for (int i = 0; i < 4; ++i) bench.post_receive(0x1000, 2048);
  bench.give({with_immediate(bench.request(Opcode::kSendOnlyImm, Psn(100), 8), 0x11223344)});
  abi::Cqe cqe = only_entry(bench);
  CHECK(cqe.opcode == abi::CqeOpcode::kResponseSendImm);
  CHECK(cqe.immediate == 0x11223344);
  bench.give({bench.request(Opcode::kSendFirst, Psn(101), 1024),
              with_immediate(bench.request(Opcode::kSendLastImm, Psn(102), 8), 5)});
  cqe = only_entry(bench);
  CHECK(cqe.opcode == abi::CqeOpcode::kResponseSendImm);
  CHECK(cqe.immediate == 5);
  CHECK(cqe.byte_count == 1032);
  CHECK(bench.said() == "Acknowledge 100 1f/1; Acknowledge 102 1f/2; ");
}

TEST_CASE("a WRITE with immediate takes a receive, and its data go where the WRITE says") {
  RcBench bench;
  bench.post_receive(0x1000, 16);
  bench.post_receive(0x1000, 16);
  PacketRef packet = bench.write_only(100, 0x4000, 700);
  packet->bth.opcode = Opcode::kWriteOnlyImm;
  bench.give({with_immediate(packet, 77)});
  CHECK(bench.holds(0x4000, 100, 700));
  abi::Cqe cqe = only_entry(bench);
  CHECK(cqe.opcode == abi::CqeOpcode::kResponseWriteImm);
  CHECK(cqe.immediate == 77);
  CHECK(cqe.byte_count == 700);
  CHECK(cqe.wqe_counter == 0);
  bench.give({bench.write_request(Opcode::kWriteFirst, Psn(101), 1024, bench.region, 0x4000, 1124),
              with_immediate(bench.request(Opcode::kWriteLastImm, Psn(102), 100), 78)});
  CHECK(bench.holds(0x4000 + 1024, 102, 100));
  cqe = only_entry(bench);
  CHECK(cqe.byte_count == 1124);
  CHECK(cqe.wqe_counter == 1);
  CHECK(bench.said() == "Acknowledge 100 1f/1; Acknowledge 102 1f/2; ");
}

TEST_CASE("a short SEND stands in the completion entry of a queue pair that wants it so") {
  QpOptions qp = reliable();
  qp.inline_receive = true;
  RcBench bench({}, qp);
  bench.post_receive(0x1000, 64);
  bench.post_receive(0x1000, 64);
  bench.give({send_only(bench, 100, 32)});
  abi::Cqe cqe = only_entry(bench);
  CHECK((cqe.flags & abi::Cqe::kInlineData) != 0);
  for (std::uint32_t i = 0; i < 32; ++i)
    CHECK(cqe.inline_data[i] == static_cast<std::uint8_t>(100 * 7 + i));
  CHECK(bench.payload(true).empty());
  bench.give({send_only(bench, 101, 33)});
  cqe = only_entry(bench);
  CHECK((cqe.flags & abi::Cqe::kInlineData) == 0);
  CHECK(bench.holds(0x1000, 101, 33));
}

TEST_CASE("a SEND that finds no receive is answered with an RNR NAK of the queue pair's timer") {
  RcBench bench;
  bench.give({send_only(bench, 100, 8), send_only(bench, 101, 8)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");  // the one behind it in silence
  CHECK(bench.driver().query_qp(Qpn(1)).expected_psn == Psn(100));
  bench.give({send_only(bench, 100, 8)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");
  bench.post_receive(0x1000, 64);
  bench.give({send_only(bench, 100, 8)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; ");
  CHECK(bench.completions() == "R0:0 ");
  CHECK(bench.state() == QpState::kRts);
}

TEST_CASE("a WRITE with immediate that finds no receive is not carried out") {
  RcBench bench;
  PacketRef packet = bench.write_only(100, 0x4000, 64);
  packet->bth.opcode = Opcode::kWriteOnlyImm;
  bench.give({packet});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");
  CHECK(bench.payload(true).empty());
}

TEST_CASE("a WRITE with immediate whose key is refused is a local access error of its receive") {
  RcBench bench;
  bench.post_receive(0x1000, 16);
  bench.post_receive(0x1000, 16);
  PacketRef packet = bench.write_only(100, 0x4000, 64);
  packet->bth.opcode = Opcode::kWriteOnlyImm;
  packet->reth.r_key = MemoryKey(9, 9);
  bench.give({packet});
  CHECK(bench.said() == "Acknowledge 100 62/0; ");
  CHECK(bench.completions() == "R0:8 R1:5 ");
  CHECK(bench.payload(true).empty());
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("a SEND longer than its receive is an invalid request, and a length error here") {
  RcBench bench;
  bench.post_receive(0x1000, 100);
  bench.post_receive(0x2000, 100);
  bench.give({send_only(bench, 100, 101)});
  CHECK(bench.said() == "Acknowledge 100 61/0; ");
  CHECK(bench.completions() == "R0:1 R1:5 ");
  CHECK(bench.payload(true).empty());
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a SEND that grows longer than its receive ends at that packet") {
  RcBench bench;
  bench.post_receive(0x1000, 1500);
  bench.give({bench.request(Opcode::kSendFirst, Psn(100), 1024),
              bench.request(Opcode::kSendMiddle, Psn(101), 1024)});
  CHECK(bench.said() == "Acknowledge 101 61/0; ");
  CHECK(bench.completions() == "R0:1 ");
}

TEST_CASE("a receive in memory that may not be written is an operational error") {
  RcBench bench;
  bench.driver().post_receive(Qpn(1), {{bench.region.start, 64, MemoryKey(9, 9)}});
  bench.post_receive(0x1000, 64);
  bench.give({send_only(bench, 100, 8), send_only(bench, 101, 8)});
  CHECK(bench.said() == "Acknowledge 100 63/0; ");
  CHECK(bench.completions() == "R0:4 R1:5 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("receives are flushed in order when a request is refused, the present message first") {
  RcBench bench;
  for (int i = 0; i < 3; ++i) bench.post_receive(0x1000, 2048);
  bench.give({bench.request(Opcode::kSendFirst, Psn(100), 1024),
              bench.request(Opcode::kWriteMiddle, Psn(101), 1024)});
  CHECK(bench.said() == "Acknowledge 101 61/0; ");
  CHECK(bench.completions() == "R0:5 R1:5 R2:5 ");
}

TEST_CASE("receives are flushed when software moves the queue pair to error") {
  RcBench bench;
  bench.post_receive(0x1000, 64);
  bench.post_receive(0x1000, 64);
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  CHECK(bench.completions() == "R0:5 R1:5 ");
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a queue pair without receives refuses SENDs as invalid requests") {
  QpOptions qp = reliable();
  qp.has_receives = false;
  RcBench bench({}, qp);
  bench.give({send_only(bench, 100, 8)});
  CHECK(bench.said() == "Acknowledge 100 61/0; ");
}

TEST_CASE("queue pairs that share a receive queue take its receives in the order of arrival") {
  QpOptions qp = reliable();
  qp.has_receives = false;
  qp.srqn = 2;
  RcBench bench({}, qp);
  bench.driver().add_srq(2);
  bench.driver().add_qp(Qpn(2), qp);
  for (std::uint64_t i = 0; i < 3; ++i)
    bench.driver().post_shared_receive(2, {bench.segment(0x1000 + i * 0x1000, 64)});
  PacketRef other = send_only(bench, 100, 40);
  other->bth.dest_qp = Qpn(2);
  bench.give({send_only(bench, 100, 20), other, send_only(bench, 101, 30)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; Acknowledge 100 1f/1; Acknowledge 101 1f/2; ");
  CHECK(bench.holds(0x1000, 100, 20));
  CHECK(bench.holds(0x2000, 100, 40));
  CHECK(bench.holds(0x3000, 101, 30));
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].qpn == Qpn(1));
  CHECK(entries[1].qpn == Qpn(2));
  CHECK(entries[1].wqe_counter == 1);
  CHECK(entries[2].qpn == Qpn(1));
  bench.give({send_only(bench, 102, 8)});
  CHECK(bench.said() == "Acknowledge 102 2c/2; ");
}

TEST_CASE("a SEND that comes again is acknowledged and takes no receive") {
  RcBench bench;
  bench.post_receive(0x1000, 64);
  bench.post_receive(0x2000, 64);
  bench.give({send_only(bench, 100, 8)});
  bench.said();
  bench.host.memory.log.clear();
  bench.give({send_only(bench, 100, 8)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; ");
  CHECK(bench.payload(true).empty());
  CHECK(bench.completions() == "R0:0 ");
}

TEST_CASE("going back to 0 asks for the message's first packet after a gap inside it") {
  BenchOptions options;
  options.nic.retransmitter.mode = Retransmission::kGoBack0;
  RcBench bench(options);
  bench.post_receive(0x1000, 4096);
  bench.give({bench.request(Opcode::kSendFirst, Psn(100), 1024),
              bench.request(Opcode::kSendLast, Psn(102), 1024)});
  CHECK(bench.said() == "Acknowledge 100 60/0; ");
  bench.give({bench.request(Opcode::kSendFirst, Psn(100), 1024),
              bench.request(Opcode::kSendMiddle, Psn(101), 1024),
              bench.request(Opcode::kSendLast, Psn(102), 1024)});
  CHECK(bench.said() == "Acknowledge 102 1f/1; ");
  CHECK(bench.holds(0x1000, 100, 1024));
  CHECK(bench.holds(0x1800, 102, 1024));
  CHECK(only_entry(bench).byte_count == 3072);
}
