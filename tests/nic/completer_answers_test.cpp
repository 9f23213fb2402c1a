// SPDX-License-Identifier: MIT
// Answers to READs and atomics at the requester's side, the test being the far responder.
#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "nic/completer.h"
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

QpOptions with_max_rd_atomic(std::uint8_t most) {
  QpOptions options = reliable();
  options.max_rd_atomic = most;
  return options;
}

/// Posts a READ of so many bytes, answers it with one packet and looks at what comes of it.
void check_bad(std::uint32_t bytes, Opcode opcode, std::uint32_t answered) {
  RcBench bench;
  bench.read(0, bytes);
  bench.ring();
  bench.give({bench.answer(opcode, 100, answered)});
  CHECK(bench.completions() == "0:7 ");
  CHECK(bench.payload(true).empty());
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

}  // namespace

TEST_CASE("a READ request names far memory, asks for all of it and reads nothing at home") {
  RcBench bench;
  bench.read(40, 3000);
  bench.write(0, 8);
  bench.ring();
  CHECK(bench.said() == "RDMA READ Request 100; RDMA WRITE Only 103; ");
  const Packet& request = *bench.wire.packets[0];
  CHECK(request.reth.virtual_address.value() == test::kFar + 40);
  CHECK(request.reth.r_key == test::kFarKey);
  CHECK(request.reth.dma_length == 3000);
  CHECK(request.payload_length == Bytes(0));
  CHECK(bench.payload(false).size() == 1);  // of the WRITE
}

TEST_CASE("one response completes its READ when its bytes have been handed to PCIe") {
  RcBench bench;
  bench.read(64, 200);
  bench.read(64, 200);
  bench.ring();
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 200)});
  CHECK(bench.completions() == "0:0 ");
  bench.host.memory.log.clear();
  const Time came = bench.give({bench.answer(Opcode::kReadResponseOnly, 101, 200)});
  CHECK(bench.holds(64, 101, 200));
  const auto data = bench.payload(true);
  const auto entry = bench.host.memory.of(DmaPurpose::kCompletionQueue);
  REQUIRE(data.size() == 1);
  REQUIRE(entry.size() == 1);
  // Parser 8, completer 10; key look-up 4, four states of one cycle, translation 4.
  const Time taken = kNicClock.after(kNicClock.after(came, Cycles(8)), Cycles(10));
  CHECK(data[0].begin == kNicClock.after(taken, Cycles(12)));
  CHECK(data[0].engine == DmaEngineId::kPosted);
  CHECK(entry[0].begin == kNicClock.after(data[0].end, Cycles(6)));
  const auto cqe = bench.driver().poll(Cqn(1));
  REQUIRE(cqe.size() == 1);
  CHECK(cqe[0].opcode == abi::CqeOpcode::kRequest);
  CHECK(cqe[0].byte_count == 200);
}

TEST_CASE("responses of several packets land in the segments of the READ in order") {
  RcBench bench;
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kRdmaRead, 0, 0);
  w.gather = {bench.segment(0x1000, 1500), bench.segment(0x4000, 1500)};
  bench.post(w);
  bench.ring();
  bench.give({bench.answer(Opcode::kReadResponseFirst, 100, 1024),
              bench.answer(Opcode::kReadResponseMiddle, 101, 1024)});
  CHECK(bench.completions().empty());
  bench.give({bench.answer(Opcode::kReadResponseLast, 102, 952)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.holds(0x1000, 100, 1024));
  for (std::uint32_t i = 0; i < 1024; ++i) {
    const std::uint64_t at = i < 476 ? 0x1000 + 1024 + i : 0x4000 + i - 476;
    REQUIRE(bench.byte(at) == static_cast<std::uint8_t>(101 * 7 + i));
  }
  CHECK(bench.holds(0x4000 + 548, 102, 952));
}

TEST_CASE("a READ of nothing completes without touching memory") {
  RcBench bench;
  bench.read(0, 0);
  bench.ring();
  CHECK(bench.said() == "RDMA READ Request 100; ");
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 0)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.payload(true).empty());
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a response shorter than its READ is a bad response") {
  check_bad(200, Opcode::kReadResponseOnly, 199);
}
TEST_CASE("a response longer than its READ is a bad response") {
  check_bad(200, Opcode::kReadResponseOnly, 201);
}
TEST_CASE("a first response that is not of the path MTU is a bad response") {
  check_bad(2000, Opcode::kReadResponseFirst, 1000);
}
TEST_CASE("an only response to a READ of several packets is a bad response") {
  check_bad(2000, Opcode::kReadResponseOnly, 1024);
}
TEST_CASE("a first response to a READ of one packet is a bad response") {
  check_bad(1024, Opcode::kReadResponseFirst, 1024);
}
TEST_CASE("the answer to an atomic where READ data belong is a bad response") {
  check_bad(8, Opcode::kAtomicAcknowledge, 0);
}

TEST_CASE("READ data where the answer to an atomic belongs are a bad response") {
  RcBench bench;
  bench.fetch_add(0, 1);
  bench.ring();
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 8)});
  CHECK(bench.completions() == "0:7 ");
}

TEST_CASE("a gap in responses has the READ asked for again from the missing one on") {
  RcBench bench;
  bench.read(0, 5000);
  bench.ring();
  bench.said();
  bench.give({bench.answer(Opcode::kReadResponseFirst, 100, 1024),
              bench.answer(Opcode::kReadResponseMiddle, 102, 1024),
              bench.answer(Opcode::kReadResponseMiddle, 103, 1024)});
  CHECK(bench.said() == "RDMA READ Request 101; ");
  const Packet& again = *bench.wire.packets.back();
  CHECK(again.reth.virtual_address.value() == test::kFar + 1024);
  CHECK(again.reth.dma_length == 5000 - 1024);
  bench.give({bench.answer(Opcode::kReadResponseFirst, 101, 1024),
              bench.answer(Opcode::kReadResponseMiddle, 102, 1024),
              bench.answer(Opcode::kReadResponseMiddle, 103, 1024),
              bench.answer(Opcode::kReadResponseLast, 104, 904)});
  CHECK(bench.completions() == "0:0 ");
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(bench.holds(i * 1024, 100 + i, 1024));
  CHECK(bench.holds(4096, 104, 904));
  CHECK(bench.said().empty());
}

TEST_CASE("responses that follow a gap have the READ asked for again once, however many come") {
  RcBench bench;
  bench.read(0, 20 * 1024);
  bench.ring();
  bench.said();
  std::vector<PacketRef> answers = {bench.answer(Opcode::kReadResponseFirst, 100, 1024)};
  for (std::uint32_t psn = 102; psn < 119; ++psn)  // 3.4 us: the READ has been asked again long ago
    answers.push_back(bench.answer(Opcode::kReadResponseMiddle, psn, 1024));
  bench.give(answers);
  CHECK(bench.said() == "RDMA READ Request 101; ");
  std::vector<PacketRef> again = {bench.answer(Opcode::kReadResponseFirst, 101, 1024)};
  for (std::uint32_t psn = 102; psn < 119; ++psn)
    again.push_back(bench.answer(Opcode::kReadResponseMiddle, psn, 1024));
  again.push_back(bench.answer(Opcode::kReadResponseLast, 119, 1024));
  bench.give(again);
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:0 ");
  for (std::uint32_t i = 0; i < 20; ++i) CHECK(bench.holds(i * 1024, 100 + i, 1024));
}

TEST_CASE("an acknowledgement behind a READ without its data has the READ asked for again") {
  RcBench bench;
  bench.read(0, 64);
  bench.write(64, 64);
  bench.ring();
  bench.said();
  bench.give({bench.ack(101)});
  CHECK(bench.completions().empty());
  CHECK(bench.said() == "RDMA READ Request 100; RDMA WRITE Only 101; ");
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 64), bench.ack(101)});
  CHECK(bench.completions() == "0:0 1:0 ");
}

TEST_CASE("a response that comes twice is written once") {
  RcBench bench;
  bench.read(0, 2048);
  bench.ring();
  bench.said();
  bench.give({bench.answer(Opcode::kReadResponseFirst, 100, 1024),
              bench.answer(Opcode::kReadResponseFirst, 100, 1024)});
  CHECK(bench.payload(true).size() == 1);
  bench.give({bench.answer(Opcode::kReadResponseLast, 101, 1024)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.said().empty());
  CHECK(bench.host.metric("completer.unexpected") == 1);
}

TEST_CASE("the original value of an atomic lands as an x86 program reads it") {
  RcBench bench;
  bench.fetch_add(64, 5);
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kAtomicCompareSwap, 72, 8);
  w.atomic = {11, 12};
  bench.post(w);
  bench.ring();
  CHECK(bench.said() == "FetchAdd 100; CmpSwap 101; ");
  CHECK(bench.wire.packets[0]->atomic.swap_or_add == 5);
  CHECK(bench.wire.packets[1]->atomic.swap_or_add == 11);
  CHECK(bench.wire.packets[1]->atomic.compare == 12);
  CHECK(bench.wire.packets[1]->reth.virtual_address.value() == test::kFar + 72);
  bench.give({bench.original(100, 0x0102030405060708), bench.original(101, 3)});
  CHECK(load_le64(&bench.byte(64)) == 0x0102030405060708);
  CHECK(load_le64(&bench.byte(72)) == 3);
  const auto entries = bench.driver().poll(Cqn(1));
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].byte_count == 8);
}

TEST_CASE("an atomic into anything but 8 bytes fails at home") {
  RcBench bench;
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kAtomicFetchAdd, 0, 16);
  bench.post(w);
  bench.ring();
  CHECK(bench.completions() == "0:1 ");
  CHECK(bench.said().empty());
}

TEST_CASE("READs and WRITEs complete in the order they were posted") {
  RcBench bench;
  bench.write(0, 64);       // 100
  bench.read(0x1000, 64);   // 101
  bench.write(64, 64);      // 102
  bench.fetch_add(256, 1);  // 103
  bench.write(128, 64);     // 104
  bench.ring();
  bench.give({bench.answer(Opcode::kReadResponseOnly, 101, 64)});
  CHECK(bench.completions() == "0:0 1:0 ");  // a response acknowledges what is before it
  bench.give({bench.original(103, 1), bench.ack(104)});
  CHECK(bench.completions() == "2:0 3:0 4:0 ");
}

TEST_CASE("a READ whose data are still being written holds back the WRITE acknowledged behind it") {
  RcBench bench;
  bench.write(0, 64);
  bench.ring();
  bench.give({bench.ack(100)});
  bench.host.memory.log.clear();
  bench.read(0, 1024);
  bench.write(64, 64);
  bench.ring();
  const Time start = bench.scheduler.now() + 10_ns;
  bench.arrive_at(start, bench.answer(Opcode::kReadResponseOnly, 101, 1024));
  bench.arrive_at(start + 20_ns, bench.ack(102));
  bench.run();
  const auto data = bench.payload(true);
  const auto entries = bench.host.memory.of(DmaPurpose::kCompletionQueue);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].begin == kNicClock.after(data[0].end, Cycles(6)));
  CHECK(entries[1].begin == kNicClock.after(entries[0].begin, Cycles(2)));
  CHECK(bench.completions() == "0:0 1:0 2:0 ");
}

TEST_CASE("a fence holds a WRITE back until the READ before it has been answered") {
  RcBench bench;
  bench.read(0, 64);
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kRdmaWrite, 0, 64);
  w.fence = true;
  bench.post(w);
  bench.write(64, 64);
  bench.ring();
  CHECK(bench.said() == "RDMA READ Request 100; ");
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 64)});
  CHECK(bench.said() == "RDMA WRITE Only 101; RDMA WRITE Only 102; ");
  const auto landed = bench.payload(true);
  CHECK(bench.wire.packets[1]->payload()[0] == static_cast<std::uint8_t>(100 * 7));
  CHECK(bench.payload(false)[0].begin > landed[0].end);
}

TEST_CASE("a fence does not wait for WRITEs") {
  RcBench bench;
  bench.write(0, 64);
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kRdmaWrite, 0, 64);
  w.fence = true;
  bench.post(w);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE Only 100; RDMA WRITE Only 101; ");
}

TEST_CASE("no more READs and atomics are outstanding than max_rd_atomic, in order") {
  RcBench bench({}, with_max_rd_atomic(2));
  bench.read(0, 64);
  bench.fetch_add(256, 1);
  bench.read(64, 64);
  bench.write(128, 64);  // not before the READ
  bench.ring();
  CHECK(bench.said() == "RDMA READ Request 100; FetchAdd 101; ");
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 64)});
  CHECK(bench.said() == "RDMA READ Request 102; RDMA WRITE Only 103; ");
  bench.give(
      {bench.original(101, 1), bench.answer(Opcode::kReadResponseOnly, 102, 64), bench.ack(103)});
  CHECK(bench.completions() == "0:0 1:0 2:0 3:0 ");
}

TEST_CASE("a READ that waits for another goes on although the CQE writer was full meanwhile") {
  BenchOptions options;
  options.nic.cqe_writer.queue = 1;
  RcBench bench(options, with_max_rd_atomic(1));
  bench.read(0, 1024);
  bench.write(64, 64);
  bench.read(0, 64);
  bench.ring();
  bench.said();
  const Time start = bench.scheduler.now() + 10_ns;
  bench.arrive_at(start, bench.answer(Opcode::kReadResponseOnly, 100, 1024));
  bench.arrive_at(start + 20_ns, bench.ack(101));
  bench.run();
  CHECK(bench.completions() == "0:0 1:0 ");
  CHECK(bench.said() == "RDMA READ Request 102; ");
}

TEST_CASE("a queue pair that may have no READ outstanding fails READs at home") {
  RcBench bench({}, with_max_rd_atomic(0));
  bench.read(0, 64);
  bench.ring();
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:2 ");
}

TEST_CASE("a READ into memory that may not be written fails at home with a protection error") {
  test::RegionOptions region;
  region.access = AccessFlags::kRemoteRead;
  RcBench bench({}, reliable(), region);
  bench.read(0, 64);
  bench.write(0, 64);
  bench.ring();
  CHECK(bench.said() == "RDMA READ Request 100; RDMA WRITE Only 101; ");
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 64)});
  CHECK(bench.completions() == "0:4 1:5 ");
  CHECK(bench.payload(true).empty());
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a NAK of a READ fails it after what was before it") {
  RcBench bench;
  bench.write(0, 64);
  bench.read(0, 64);
  bench.read(64, 64);
  bench.ring();
  bench.give({bench.nak(101, NakCode::kRemoteAccessError)});
  CHECK(bench.completions() == "0:0 1:10 2:5 ");
}

TEST_CASE("a completion queue that is overrun puts its queue pairs in error") {
  RcBench bench;
  bench.driver().add_qp(Qpn(2), reliable());
  bench.driver().add_cq(Cqn(2));
  QpOptions elsewhere = reliable();
  elsewhere.cqn = Cqn(2);
  bench.driver().add_qp(Qpn(3), elsewhere);
  for (const Qpn qpn : {Qpn(2), Qpn(3)}) {  // the NIC knows where they complete
    bench.driver().post(qpn, bench.work(abi::WqeOpcode::kRdmaWrite, 0, 8));
    bench.driver().ring(qpn);
    bench.run();
  }
  for (int i = 0; i < 17; ++i) bench.write(0, 8);  // a ring of 16
  bench.ring();
  bench.give({bench.ack(116)});
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.driver().query_qp(Qpn(2)).state == QpState::kErr);
  CHECK(bench.driver().query_qp(Qpn(3)).state == QpState::kRts);
  CHECK(bench.host.nic.idle());
}
