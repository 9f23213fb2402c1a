// SPDX-License-Identifier: MIT
// Selective repeat at the sending end: which packets are sent again, and exactly when, with the
// test as the far side.
#include "nic/repeater.h"

#include <catch2/catch.hpp>

#include "nic/retransmitter.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kNicClock;
using test::kReadLatency;
using test::kTimeout;
using test::QpOptions;
using test::RcBench;
using test::reliable;
using test::with_timeout;

namespace {

BenchOptions selective() {
  BenchOptions options;
  options.nic.retransmitter.mode = Retransmission::kSelectiveRepeat;
  return options;
}

struct Bench : RcBench {
  explicit Bench(const QpOptions& qp = reliable(), const BenchOptions& options = selective())
      : RcBench(options, qp) {}
  PacketRef missing(std::uint32_t psn) { return nak(psn, NakCode::kPsnSequenceError); }
  /// Posts WRITEs of so many bytes each, and lets them be sent.
  void send(std::initializer_list<std::uint32_t> sizes) {
    std::uint64_t at = 0;
    for (const std::uint32_t bytes : sizes) {
      write(at, bytes);
      at += bytes;
    }
    driver().ring(Qpn(1));
    scheduler.run_until(scheduler.now() + 4_us);
    said();
    host.memory.log.clear();
  }
  /// Gives packets as give() does, but runs only until so long after the last.
  Time give_for(Time span, std::vector<PacketRef> packets) {
    Time time = scheduler.now() + 10_ns;
    for (PacketRef& packet : packets) {
      arrive_at(time, std::move(packet));
      time += 200_ns;
    }
    scheduler.run_until(time - 200_ns + span);
    return time - 200_ns;
  }
  /// "time since then: bytes" of each read of the send queue.
  std::string wqe_reads(Time since) {
    std::string text;
    for (const auto& access : host.memory.of(DmaPurpose::kSendQueue))
      text +=
          std::to_string((access.begin - since).ps()) + ": " + std::to_string(access.bytes) + "; ";
    return text;
  }
  std::vector<std::uint8_t> payload_of(std::size_t from_last) {
    return sent(wire.packets.size() - from_last);
  }
};

}  // namespace

TEST_CASE("a lost packet is sent again alone, from its WQE read again, as soon as one can be") {
  Bench bench;
  bench.send({64, 64, 64});
  const Time came = bench.give({bench.missing(101)});
  CHECK(bench.said() == "RDMA WRITE Only 101; ");
  CHECK(bench.wqe_reads(came) == "0: 64; ");
  // WQE, a turn of 20 cycles, key and translation 12, payload, header pipeline 8.
  const Time turn = kNicClock.after(came + kReadLatency, Cycles(20));
  const Time start = kNicClock.after(kNicClock.after(turn, Cycles(12)) + kReadLatency, Cycles(8));
  CHECK(bench.start(3) == start);
  CHECK(bench.payload_of(1) == bench.bytes_of(64, 64));
}

TEST_CASE("a packet from inside a message has its place's opcode, bytes and no address") {
  Bench bench;
  bench.send({4000});
  bench.give({bench.missing(102)});
  CHECK(bench.said() == "RDMA WRITE Middle 102; ");
  CHECK(bench.payload_of(1) == bench.bytes_of(2048, 1024));
  CHECK(bench.wire.packets.back()->bth.ack_req);
}

TEST_CASE("the first and the last packet of a message are sent again as such") {
  Bench bench;
  bench.send({4000});
  bench.give({bench.missing(100), bench.missing(103)});
  CHECK(bench.said() == "RDMA WRITE First 100; RDMA WRITE Last 103; ");
  CHECK(bench.wire.packets[4]->reth.dma_length == 4000);
  CHECK(bench.payload_of(1) == bench.bytes_of(3072, 928));
}

TEST_CASE("two holes in one message are mended from one read of its WQE") {
  Bench bench;
  bench.send({8192});
  const Time came = bench.give({bench.missing(101), bench.missing(105)}) - 200_ns;
  CHECK(bench.said() == "RDMA WRITE Middle 101; RDMA WRITE Middle 105; ");
  CHECK(bench.wqe_reads(came) == "0: 64; ");
}

TEST_CASE("two holes in two messages need two reads, the second once the first packet is read") {
  Bench bench;
  bench.send({2048, 2048});
  const Time came = bench.give_for(5_us, {bench.missing(101)});
  bench.host.memory.log.clear();
  bench.said();
  const Time again = bench.give({bench.missing(100), bench.missing(102)}) - 200_ns;
  CHECK(again > came);
  CHECK(bench.said() == "RDMA WRITE First 100; RDMA WRITE First 102; ");
  // The first WQE was still there. Its packet's turn is over 20 cycles on, its read is issued 12
  // cycles later; the second NAK comes only then.
  CHECK(bench.wqe_reads(again) == "200000: 64; ");
}

TEST_CASE("a burst of lost packets is sent again in order, a pipeline interval apart") {
  Bench bench;
  bench.send({16 * 1024});
  const Time now = bench.scheduler.now();
  for (const std::uint32_t psn : {110u, 111u, 112u, 113u})
    bench.arrive_at(now + 10_ns, bench.missing(psn));
  bench.run();
  CHECK(bench.said() ==
        "RDMA WRITE Middle 110; RDMA WRITE Middle 111; RDMA WRITE Middle 112; "
        "RDMA WRITE Middle 113; ");
  CHECK(bench.payload_of(4) == bench.bytes_of(10 * 1024, 4 * 1024));
  std::vector<Time> reads;
  for (const auto& access : bench.payload(false)) reads.push_back(access.begin);
  REQUIRE(reads.size() == 4);
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(reads[i] - reads[i - 1] == kNicClock.duration(Cycles(4)));
}

TEST_CASE("what is new goes on behind a packet that is sent again, and nothing is sent twice") {
  BenchOptions options = selective();
  options.rate = BitRate::gbps(10);
  Bench bench(reliable(), options);
  bench.write(0, 16 * 1024);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 5_us);
  const std::size_t before = bench.wire.packets.size();
  REQUIRE(before > 3);
  REQUIRE(before < 14);
  bench.give({bench.missing(101)});
  std::vector<int> times(16, 0);
  std::uint32_t next = 100;
  for (const PacketRef& packet : bench.wire.packets) {
    const std::uint32_t psn = packet->bth.psn.value();
    ++times[psn - 100];
    if (psn != 101) CHECK(psn >= next);
    if (psn != 101) next = psn + 1;
  }
  for (std::uint32_t psn = 100; psn < 116; ++psn) CHECK(times[psn - 100] == (psn == 101 ? 2 : 1));
  bench.give({bench.ack(115)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a NAK acknowledges nothing in this mode") {
  Bench bench;
  bench.send({64, 64, 64});
  bench.give({bench.missing(102)});
  CHECK(bench.completions().empty());
  bench.give({bench.ack(101)});
  CHECK(bench.completions() == "0:0 1:0 ");
  bench.give({bench.ack(102)});
  CHECK(bench.completions() == "2:0 ");
  CHECK(bench.driver().query_qp(Qpn(1)).next_send_psn == Psn(103));
}

TEST_CASE("a NAK of what has been acknowledged since has nothing sent again") {
  Bench bench;
  bench.send({64, 64});
  bench.give({bench.ack(100), bench.missing(100)});
  CHECK(bench.said().empty());
  CHECK(bench.host.metric("completer.unexpected") == 1);
}

TEST_CASE("a packet that is acknowledged before its turn is left out") {
  Bench bench;
  bench.send({64, 64});
  const Time now = bench.scheduler.now();
  bench.arrive_at(now + 10_ns, bench.missing(100));
  bench.arrive_at(now + 100_ns, bench.ack(101));
  bench.run();
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:0 1:0 ");
  CHECK(bench.host.metric("repeater.left_out") == 1);
}

TEST_CASE("NAKs do not use up retries: many losses in one message are mended with none to spare") {
  Bench bench(with_timeout(0, 0));
  bench.send({16 * 1024});
  std::vector<PacketRef> naks;
  for (std::uint32_t psn = 100; psn < 116; psn += 2) naks.push_back(bench.missing(psn));
  bench.give(std::move(naks));
  CHECK(bench.host.metric("retransmitter.packets_again") == 8);
  bench.give({bench.ack(115)});
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE(
    "when the packet sent again is lost, too, a timeout sends it once more, exactly in time") {
  Bench bench(with_timeout(1));
  bench.write(0, 64);
  bench.write(64, 64);
  bench.write(128, 64);
  bench.driver().ring(Qpn(1));
  const Time begun = bench.scheduler.now();
  bench.scheduler.run_until(begun + 2_us);
  bench.give_for(3_us, {bench.missing(100)});
  CHECK(bench.said() ==
        "RDMA WRITE Only 100; RDMA WRITE Only 101; RDMA WRITE Only 102; RDMA WRITE Only 100; ");
  bench.host.memory.log.clear();
  const Time expired = bench.start(0) - kNicClock.duration(Cycles(8)) + kTimeout;
  bench.scheduler.run_until(expired + 3_us);
  CHECK(bench.said() == "RDMA WRITE Only 100; ");  // the oldest alone
  // Its WQE has stayed; the turn begins at the next edge of the clock.
  CHECK(bench.wqe_reads(expired).empty());
  const Time turn = kNicClock.after(expired, Cycles(20));
  CHECK(bench.start(4) ==
        kNicClock.after(kNicClock.after(turn, Cycles(12)) + kReadLatency, Cycles(8)));
  bench.give({bench.ack(102)});
  CHECK(bench.completions() == "0:0 1:0 2:0 ");
  CHECK(bench.host.metric("retransmitter.local_ack_timeout_err") == 1);
}

TEST_CASE("a lost end of a message costs one timeout, then a round trip a packet") {
  Bench bench(with_timeout(1));
  bench.write(0, 4096);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 12_us);  // 101 to 103 are lost
  CHECK(bench.said() ==
        "RDMA WRITE First 100; RDMA WRITE Middle 101; RDMA WRITE Middle 102; "
        "RDMA WRITE Last 103; RDMA WRITE First 100; ");
  bench.give_for(2_us, {bench.ack(100)});
  CHECK(bench.said() == "RDMA WRITE Middle 101; ");
  bench.give_for(2_us, {bench.ack(101)});
  CHECK(bench.said() == "RDMA WRITE Middle 102; ");
  bench.give_for(2_us, {bench.ack(102)});
  CHECK(bench.said() == "RDMA WRITE Last 103; ");
  bench.write(8192, 64);  // sent after the timeout: an acknowledgement before it means nothing
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 2_us);
  bench.said();
  bench.give_for(2_us, {bench.ack(103)});
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.host.metric("retransmitter.local_ack_timeout_err") == 1);
}

TEST_CASE("timeouts without progress exhaust the retries") {
  Bench bench(with_timeout(1, 2));
  bench.write(0, 64);
  bench.write(64, 64);
  bench.ring();
  CHECK(bench.said() ==
        "RDMA WRITE Only 100; RDMA WRITE Only 101; RDMA WRITE Only 100; RDMA WRITE Only 100; ");
  CHECK(bench.completions() == "0:12 1:5 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("an inline WQE across the end of the ring is read again in two pieces") {
  QpOptions qp = reliable();
  qp.log_blocks = 2;
  Bench bench(qp);
  bench.send({64, 64, 64});
  bench.give({bench.ack(102)});
  test::MiniDriver::Write w = bench.work(abi::WqeOpcode::kRdmaWrite, 0, 0);
  for (int i = 0; i < 100; ++i) w.inlined.push_back(static_cast<std::uint8_t>(i * 3));
  bench.post(w);
  bench.ring();
  bench.said();
  bench.host.memory.log.clear();
  const Time came = bench.give({bench.missing(103)});
  CHECK(bench.said() == "RDMA WRITE Only 103; ");
  CHECK(bench.wqe_reads(came) == "0: 64; 0: 128; ");
  CHECK(bench.payload_of(1) == w.inlined);
}

TEST_CASE("a message whose WQE was overwritten before it could be sent again fails") {
  Bench bench;
  bench.send({64, 64});
  *bench.driver().at(bench.driver().send_ring(Qpn(1)) + 3) = 0;  // its opcode: nothing to do
  bench.give({bench.missing(100)});
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:2 1:5 ");
}

TEST_CASE("a lost READ request is asked for again whole, and NAKs of its responses are passed by") {
  Bench bench;
  bench.read(0, 3000);
  bench.write(4096, 64);
  bench.ring();
  bench.said();
  bench.give({bench.missing(100), bench.missing(101), bench.missing(102)});
  CHECK(bench.said() == "RDMA READ Request 100; ");
  const Packet& again = *bench.wire.packets.back();
  CHECK(again.reth.virtual_address.value() == test::kFar);
  CHECK(again.reth.dma_length == 3000);
}

TEST_CASE("an RNR NAK goes back to its message, and all behind it is sent again") {
  Bench bench;
  bench.post(abi::WqeOpcode::kSend, 0, 64);
  bench.write(64, 64);
  bench.ring();
  bench.said();
  bench.give({bench.rnr_nak(100, 1)});
  CHECK(bench.said() == "SEND Only 100; RDMA WRITE Only 101; ");
}

TEST_CASE("after a reset the same PSN is sent again from the WQE that is there now") {
  Bench bench;
  bench.send({64, 64});
  bench.give({bench.missing(100)});
  bench.driver().modify_qp(Qpn(1), QpState::kReset);
  bench.driver().reset_qp(Qpn(1));
  bench.driver().add_qp(Qpn(1), reliable());
  bench.said();
  bench.write(640, 32);
  bench.ring();
  bench.give({bench.missing(100)});
  CHECK(bench.said() == "RDMA WRITE Only 100; RDMA WRITE Only 100; ");
  CHECK(bench.payload_of(1) == bench.bytes_of(640, 32));
  CHECK(bench.host.nic.idle());
}
