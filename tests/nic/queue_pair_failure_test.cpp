// SPDX-License-Identifier: MIT
// What is under way when a reliable connection fails: what had been done before completes, each
// request and receive completes once, and what is posted late is flushed.
#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::RcBench;

namespace {

constexpr MemoryKey kWrongKey(9, 9);     ///< whose entry has to be fetched
constexpr MemoryKey kStaleKey(3, 0x77);  ///< whose entry the NIC has

/// Packets that arrive too close together for one to be through before the next is judged.
void give_at_once(RcBench& bench, std::vector<PacketRef> packets) {
  Time time = bench.scheduler.now() + 10_ns;
  for (PacketRef& packet : packets) {
    bench.arrive_at(time, std::move(packet));
    time += 10_ns;
  }
  bench.run();
}

PacketRef send(RcBench& bench, Opcode opcode, std::uint32_t psn, std::uint32_t bytes) {
  return bench.request(opcode, Psn(psn), bytes);
}

/// A receive that cannot be written.
void post_bad_receive(RcBench& bench, MemoryKey key = kWrongKey) {
  bench.driver().post_receive(Qpn(1), {{bench.region.start, 2048, key}});
}

void ring_receive_doorbell(RcBench& bench) {
  std::uint8_t value[8] = {};
  store_be32(value, 1);
  bench.host.mmio(abi::kUarOffset + abi::kReceiveDoorbell, value, sizeof value);
}

}  // namespace

TEST_CASE("a SEND that was through when the one behind it was refused completes") {
  RcBench bench;
  bench.post_receive(0x1000, 1024);
  bench.post_receive(0x2000, 1024);
  post_bad_receive(bench, kStaleKey);
  bench.give({send(bench, Opcode::kSendOnly, 100, 8)});
  bench.said();
  bench.completions();
  give_at_once(bench,
               {send(bench, Opcode::kSendOnly, 101, 1024), send(bench, Opcode::kSendOnly, 102, 8)});
  CHECK(bench.said() == "Acknowledge 101 1f/2; Acknowledge 102 63/2; ");
  CHECK(bench.completions() == "R1:0 R2:4 ");
  CHECK(bench.holds(0x2000, 101, 1024));
}

TEST_CASE("a receive that cannot be written completes although a later message is coming in") {
  RcBench bench;
  post_bad_receive(bench);
  for (int i = 0; i < 2; ++i) bench.post_receive(0x2000, 2048);
  give_at_once(bench,
               {send(bench, Opcode::kSendFirst, 100, 1024), send(bench, Opcode::kSendLast, 101, 8),
                send(bench, Opcode::kSendFirst, 102, 1024)});
  CHECK(bench.said() == "Acknowledge 100 63/0; ");
  CHECK(bench.completions() == "R0:4 R1:5 R2:5 ");
  CHECK(bench.payload(true).empty());
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a READ whose data are on their way to memory succeeds before the failure behind it") {
  RcBench bench;
  bench.read(0, 64);
  bench.write(64, 64);
  bench.write(128, 64);
  bench.ring();
  give_at_once(bench, {bench.answer(Opcode::kReadResponseOnly, 100, 64),
                       bench.nak(101, NakCode::kRemoteAccessError)});
  CHECK(bench.completions() == "0:0 1:10 2:5 ");
  CHECK(bench.holds(0, 100, 64));
}

TEST_CASE("a WRITE that was acknowledged behind a READ that fails at home is flushed") {
  RcBench bench;
  test::MiniDriver::Write read = bench.work(abi::WqeOpcode::kRdmaRead, 0, 64);
  read.gather[0].key = kWrongKey;
  bench.post(read);
  bench.write(64, 64);
  bench.ring();
  give_at_once(bench, {bench.answer(Opcode::kReadResponseOnly, 100, 64), bench.ack(101)});
  CHECK(bench.completions() == "0:4 1:5 ");
}

TEST_CASE("a READ that cannot be written while it is asked for again fails alone") {
  RcBench bench;
  test::MiniDriver::Write read = bench.work(abi::WqeOpcode::kRdmaRead, 0, 4096);
  read.gather[0].key = kStaleKey;
  bench.write(0, 64);
  bench.post(read);
  bench.write(64, 64);
  bench.ring();
  bench.said();
  // A gap: what has come is refused while the WQE of the READ is fetched to ask again.
  give_at_once(bench, {bench.answer(Opcode::kReadResponseFirst, 101, 1024),
                       bench.answer(Opcode::kReadResponseMiddle, 103, 1024)});
  CHECK(bench.said() == "RDMA READ Request 102; RDMA WRITE Only 105; ");
  CHECK(bench.completions() == "0:0 ");
  bench.give({bench.answer(Opcode::kReadResponseFirst, 102, 1024)});
  CHECK(bench.completions() == "1:4 2:5 ");
  CHECK(bench.host.nic.idle());
}

TEST_CASE(
    "a message that failed at home fails again, in its turn, when those before it come again") {
  RcBench bench;
  test::MiniDriver::Write bad = bench.work(abi::WqeOpcode::kRdmaWrite, 64, 64);
  bad.gather[0].key = kWrongKey;
  bench.write(0, 64);
  bench.post(bad);
  bench.write(128, 64);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE Only 100; ");
  bench.give({bench.nak(100, NakCode::kPsnSequenceError)});
  CHECK(bench.said() == "RDMA WRITE Only 100; ");
  CHECK(bench.completions().empty());
  bench.give({bench.ack(100)});
  CHECK(bench.completions() == "0:0 1:4 2:5 ");
}

TEST_CASE("receives posted to a queue pair in error are flushed at their doorbell") {
  RcBench bench;
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  bench.post_receive(0x1000, 64);
  bench.run();
  CHECK(bench.completions().empty());
  ring_receive_doorbell(bench);
  bench.run();
  CHECK(bench.completions() == "R0:5 ");
}

TEST_CASE("a move to ERR of a queue pair in error flushes receives posted without a doorbell") {
  RcBench bench;
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  bench.post_receive(0x1000, 64);
  bench.run();
  CHECK(bench.completions().empty());
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  CHECK(bench.completions() == "R0:5 ");
}
