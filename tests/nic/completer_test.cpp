// SPDX-License-Identifier: MIT
// Completer and CQE writer, with the test as the far responder.
#include "nic/completer.h"

#include <catch2/catch.hpp>

#include "tests/support/nic_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kWriteLatency;
using test::OneNic;
using test::Region;

namespace {

const Clock kClock{Frequency::mhz(400)};

struct Bench : OneNic {
  explicit Bench(const BenchOptions& options = {}) : OneNic(options) {
    test::QpOptions qp;
    qp.mtu_code = 3;
    driver().add_qp(Qpn(1), qp);
    region = driver().add_region(3);
  }
  void post(std::uint32_t bytes, bool signaled = true, MemoryKey key = {}) {
    test::MiniDriver::Write w;
    w.gather = {{region.start, bytes, key == MemoryKey() ? region.key : key}};
    w.signaled = signaled;
    driver().post(Qpn(1), w);
  }
  /// Posts `count` messages of 64 B, PSN 100 on.
  void post_many(int count) {
    for (int i = 0; i < count; ++i) post(64);
    driver().ring(Qpn(1));
    run();
  }
  void ring() {
    driver().ring(Qpn(1));
    run();
  }
  void answer(Psn psn, Aeth aeth) {
    arrive_at(scheduler.now() + 10_ns, response(psn, aeth));
    run();
  }
  /// "wqe_index:status" of the entries that software finds.
  std::string completions() {
    std::string text;
    for (const abi::Cqe& cqe : driver().poll(Cqn(1)))
      text += std::to_string(cqe.wqe_counter) + ":" + std::to_string(static_cast<int>(cqe.status)) +
              " ";
    return text;
  }
  QpState state() { return driver().query_qp(Qpn(1)).state; }
  Region region;
};

}  // namespace

TEST_CASE("an acknowledgement completes every message up to its PSN") {
  Bench bench;
  bench.post_many(4);
  CHECK(bench.completions().empty());
  bench.answer(Psn(102), Aeth::ack(3));
  CHECK(bench.completions() == "0:0 1:0 2:0 ");
  bench.answer(Psn(103), Aeth::ack(4));
  CHECK(bench.completions() == "3:0 ");
}

TEST_CASE("an acknowledgement of many messages goes on as the CQE writer has room") {
  BenchOptions options;
  options.nic.cqe_writer.queue = 2;
  Bench bench(options);
  bench.post_many(7);
  bench.answer(Psn(106), Aeth::ack(7));
  CHECK(bench.completions() == "0:0 1:0 2:0 3:0 4:0 5:0 6:0 ");
  CHECK(bench.host.metric("cqe_writer.occupancy.max") == 2);
  CHECK(bench.host.metric("completer.stalled.cqe_writer") > 0);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("flushing goes on as the CQE writer has room, in order") {
  BenchOptions options;
  options.nic.cqe_writer.queue = 1;
  Bench bench(options);
  bench.post_many(5);
  bench.answer(Psn(102), Aeth::nak(2, NakCode::kRemoteAccessError));
  CHECK(bench.completions() == "0:0 1:0 2:10 3:5 4:5 ");
  CHECK(bench.host.metric("cqe_writer.occupancy.max") == 1);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("an acknowledgement inside a message does not complete it") {
  Bench bench;
  bench.post(3000);
  bench.ring();
  bench.answer(Psn(101), Aeth::ack(0));
  CHECK(bench.completions().empty());
  bench.answer(Psn(102), Aeth::ack(1));
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("a completion entry lands after parser, completer, writer and memory") {
  Bench bench;
  bench.post_many(2);
  bench.answer(Psn(100), Aeth::ack(1));
  bench.host.memory.log.clear();
  const Time arrival = bench.scheduler.now() + 10_ns;
  bench.answer(Psn(101), Aeth::ack(2));
  const auto writes = bench.host.memory.of(DmaPurpose::kCompletionQueue);
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].begin ==
        kClock.after(kClock.after(kClock.after(arrival, Cycles(8)), Cycles(10)), Cycles(6)));
  CHECK(writes[0].engine == DmaEngineId::kPosted);
  CHECK_FALSE(writes[0].relaxed_ordering);
  CHECK(bench.host.memory.log.size() == 1);
}

TEST_CASE("entries that one acknowledgement causes follow at the writer's interval") {
  Bench bench;
  bench.post_many(5);
  bench.answer(Psn(100), Aeth::ack(1));
  bench.host.memory.log.clear();
  bench.answer(Psn(104), Aeth::ack(5));
  const auto writes = bench.host.memory.of(DmaPurpose::kCompletionQueue);
  REQUIRE(writes.size() == 4);
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(writes[i].begin - writes[i - 1].begin == kClock.duration(Cycles(2)));
}

TEST_CASE("the owner bit changes its sense with every lap of the ring") {
  Bench bench;
  int completed = 0;
  for (std::uint32_t i = 0; i < 50; ++i) {  // a ring of 16
    bench.post(64);
    bench.ring();
    bench.answer(Psn(100 + i), Aeth::ack(i + 1));
    CHECK(bench.completions() == std::to_string(i) + ":0 ");
    ++completed;
    const auto cqe =
        abi::Cqe::read(bench.driver().at(bench.driver().cq_ring(Cqn(1)) + i % 16 * 64));
    CHECK(cqe.owner == (i / 16 % 2 != 0));
    CHECK(cqe.qpn == Qpn(1));
    CHECK(cqe.byte_count == 64);
    CHECK(cqe.opcode == abi::CqeOpcode::kRequest);
  }
  CHECK(completed == 50);
}

TEST_CASE("an unsignaled message completes in silence unless it fails") {
  Bench bench;
  bench.post(64, false);
  bench.post(64, true);
  bench.post(64, false);
  bench.ring();
  bench.answer(Psn(101), Aeth::ack(2));
  CHECK(bench.completions() == "1:0 ");
  bench.answer(Psn(102), Aeth::nak(2, NakCode::kRemoteAccessError));
  CHECK(bench.completions() == "2:10 ");
}

TEST_CASE("a NAK completes what is before it, fails its own and flushes the rest in order") {
  Bench bench;
  bench.post_many(5);
  bench.answer(Psn(102), Aeth::nak(2, NakCode::kRemoteAccessError));
  CHECK(bench.completions() == "0:0 1:0 2:10 3:5 4:5 ");
  CHECK(bench.state() == QpState::kErr);
  bench.post_many(3);  // work posted in error is fetched and flushed
  CHECK(bench.completions() == "5:5 6:5 7:5 ");
  CHECK(bench.wire.packets.size() == 5);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a NAK while the message is being sent fails it once and stops its packets") {
  BenchOptions options;
  options.rate = BitRate::gbps(1);
  options.nic.requester.transmit_buffer = Bytes(8192);
  Bench bench(options);
  bench.post(0x8000);
  bench.post(64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 20_us);
  REQUIRE(bench.wire.packets.size() < 10);
  bench.answer(Psn(100), Aeth::nak(0, NakCode::kRemoteAccessError));
  CHECK(bench.completions() == "0:10 1:5 ");
  CHECK(bench.wire.packets.size() < 20);  // of 32
  CHECK(bench.host.nic.idle());
  CHECK(bench.state() == QpState::kErr);
}

namespace {

void check_status(NakCode code, CompletionStatus status) {
  Bench bench;
  bench.post_many(1);
  bench.answer(Psn(100), Aeth::nak(0, code));
  CHECK(bench.completions() == "0:" + std::to_string(static_cast<int>(status)) + " ");
}

}  // namespace

TEST_CASE("a NAK of an invalid request is a remote invalid request error") {
  check_status(NakCode::kInvalidRequest, CompletionStatus::kRemoteInvalidRequest);
}
TEST_CASE("a NAK of an operational error is a remote operation error") {
  check_status(NakCode::kRemoteOperationalError, CompletionStatus::kRemoteOperationError);
}
TEST_CASE("a NAK of a sequence error is retry exceeded, as of a requester without retries") {
  check_status(NakCode::kPsnSequenceError, CompletionStatus::kRetryExceeded);
}

TEST_CASE("responses that answer nothing outstanding are counted and change nothing") {
  Bench bench;
  bench.post_many(1);
  bench.answer(Psn(101), Aeth::ack(1));  // not sent yet
  PacketRef nowhere = bench.response(Psn(100), Aeth::ack(1));
  nowhere->bth.dest_qp = Qpn(0xfffff0);
  bench.arrive_at(bench.scheduler.now() + 1_ns, nowhere);
  bench.run();
  CHECK(bench.completions().empty());
  CHECK(bench.host.metric("completer.unexpected") == 2);
  bench.answer(Psn(100), Aeth::ack(1));
  bench.answer(Psn(100), Aeth::ack(1));  // again: nothing left to complete
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("a wrong lkey fails its message after the earlier ones and flushes the later ones") {
  Bench bench;
  bench.post(64);
  bench.post(64);
  bench.post(64, true, MemoryKey(3, 0xff));
  bench.post(64);
  bench.ring();
  CHECK(bench.wire.packets.size() == 2);
  CHECK(bench.completions().empty());  // its turn comes after those before it
  bench.answer(Psn(100), Aeth::ack(1));
  CHECK(bench.completions() == "0:0 ");
  bench.answer(Psn(101), Aeth::ack(2));
  CHECK(bench.completions() == "1:0 2:4 3:5 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a wrong lkey of the only message fails at once") {
  Bench bench;
  bench.post(64, false, MemoryKey(9, 1));
  bench.ring();
  CHECK(bench.completions() == "0:4 ");
  CHECK(bench.wire.packets.empty());
}

TEST_CASE("a local range that ends one byte beyond its region fails at home") {
  Bench bench;
  bench.post(0x8001);
  bench.ring();
  CHECK(bench.completions() == "0:4 ");
  CHECK(bench.wire.packets.empty());
}

TEST_CASE("a second segment with a wrong lkey fails the message in its middle") {
  Bench bench;
  test::MiniDriver::Write w;
  w.gather = {{bench.region.start, 2048, bench.region.key}, {bench.region.start, 64, MemoryKey(9)}};
  bench.driver().post(Qpn(1), w);
  bench.post(64);
  bench.ring();
  CHECK(bench.completions() == "0:4 1:5 ");
  CHECK(bench.wire.packets.size() <= 2);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("an operation that the NIC does not know fails at home") {
  Bench bench;
  test::MiniDriver::Write w;
  w.opcode = abi::WqeOpcode::kAtomicFetchAdd;
  bench.driver().post(Qpn(1), w);
  bench.post(64);
  bench.ring();
  CHECK(bench.completions() == "0:2 1:5 ");
}

TEST_CASE("a WQE that claims to be longer than a WQE can be fails at home") {
  Bench bench;
  test::MiniDriver::Write w;
  w.inlined.assign(1500, 7);  // 24 basic blocks
  bench.driver().post(Qpn(1), w);
  bench.ring();
  CHECK(bench.completions().substr(0, 4) == "0:2 ");
  CHECK(bench.wire.packets.empty());
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a queue pair moved to error flushes what is outstanding") {
  Bench bench;
  bench.post_many(3);
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  CHECK(bench.completions() == "0:5 1:5 2:5 ");
  bench.answer(Psn(102), Aeth::ack(3));
  CHECK(bench.completions().empty());
}

TEST_CASE("a queue pair works again after reset, from the start of its ring") {
  Bench bench;
  bench.post_many(3);
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kReset) == abi::CommandStatus::kOk);
  CHECK(bench.completions() == "0:5 1:5 2:5 ");
  test::QpOptions options;
  options.send_psn = Psn(500);
  bench.driver().reset_qp(Qpn(1));
  bench.driver().add_qp(Qpn(1), options);
  bench.wire.packets.clear();
  bench.post_many(2);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.packets[0]->bth.psn == Psn(500));
  bench.answer(Psn(501), Aeth::ack(2));
  CHECK(bench.completions() == "0:0 1:0 ");
}

TEST_CASE("an entry of a completion queue that does not exist is written nowhere") {
  Bench bench;
  test::QpOptions options;
  options.cqn = Cqn(5);  // never made
  bench.driver().add_qp(Qpn(2), options);
  options.cqn = Cqn(1000);  // beyond the table
  bench.driver().add_qp(Qpn(3), options);
  for (const Qpn qpn : {Qpn(2), Qpn(3)}) {
    test::MiniDriver::Write w;
    w.gather = {{bench.region.start, 64, MemoryKey(9)}};
    bench.driver().post(qpn, w);
    bench.driver().ring(qpn);
  }
  bench.run();
  CHECK(bench.host.memory.of(DmaPurpose::kCompletionQueue).empty());
  CHECK(bench.host.metric("cqe_writer.dropped") == 2);
  CHECK(bench.host.nic.idle());
}
