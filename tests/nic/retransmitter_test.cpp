// SPDX-License-Identifier: MIT
// What a reliable connection sends again, and exactly when, with the test as the far responder.
#include "nic/retransmitter.h"

#include <catch2/catch.hpp>

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

/// A packet is given to the port when its payload has come, and starts 8 cycles later.
Time given(RcBench& bench, std::size_t i) { return bench.start(i) - kNicClock.duration(Cycles(8)); }

/// When a packet of 64 B starts whose WQE is fetched from `since` on, all caches being warm.
Time start_after_fetch(Time since) {
  const Time turn = kNicClock.after(since + kReadLatency, Cycles(20));
  return kNicClock.after(kNicClock.after(turn, Cycles(12)) + kReadLatency, Cycles(8));
}

std::vector<Time> wqe_fetches(const RcBench& bench) {
  std::vector<Time> times;
  for (const auto& access : bench.host.memory.of(DmaPurpose::kSendQueue))
    times.push_back(access.begin);
  return times;
}

void check_go_back(const BenchOptions& options, std::uint32_t nak, const char* again) {
  RcBench bench(options);
  bench.write(0, 2048);
  bench.write(2048, 64);
  bench.write(4096, 2500);
  bench.ring();
  bench.said();
  bench.give({bench.nak(nak, NakCode::kPsnSequenceError)});
  CHECK(bench.said() == again);
}

}  // namespace

TEST_CASE("the timer codes of RNR NAKs mean the times of IBTA table 46") {
  const std::int64_t hundredths_of_ms[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                             16,    24,   32,   48,    64,    96,    128,   192,
                                             256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                             4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};
  for (std::uint8_t code = 0; code < 32; ++code)
    CHECK(rnr_timer(code) == Time::us(10) * hundredths_of_ms[code]);
}

TEST_CASE("the local ACK timeout is 4.096 us times two to its code, and never for code 0") {
  CHECK(ack_timeout(0) == Time::never());
  for (std::uint8_t code = 1; code < 32; ++code)
    CHECK(ack_timeout(code).ps() == std::int64_t{4096000} << code);
}

TEST_CASE("a packet that is not acknowledged is sent again exactly one timeout later") {
  RcBench bench({}, with_timeout(1));
  bench.write(0, 64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 12_us);
  CHECK(bench.said() == "RDMA WRITE Only 100; RDMA WRITE Only 100; ");
  const Time expired = given(bench, 0) + kTimeout;
  const auto fetches = wqe_fetches(bench);  // the WQE comes from host memory again
  REQUIRE(fetches.size() == 2);
  CHECK(fetches[1] == expired);
  CHECK(bench.start(1) == start_after_fetch(expired));
  CHECK(bench.sent(1) == bench.bytes_of(0, 64));
  bench.give({bench.ack(100)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.said().empty());
  CHECK(bench.host.nic.idle());
}

TEST_CASE("a timeout counts from the first packet that is not acknowledged, not from the last") {
  RcBench bench({}, with_timeout(1));
  bench.write(0, 64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 5_us);
  bench.write(64, 64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 7_us);
  CHECK(bench.said() ==
        "RDMA WRITE Only 100; RDMA WRITE Only 101; RDMA WRITE Only 100; RDMA WRITE Only 101; ");
  CHECK(wqe_fetches(bench)[2] == given(bench, 0) + kTimeout);
}

TEST_CASE("progress starts the timeout anew") {
  RcBench bench({}, with_timeout(1));
  bench.write(0, 64);
  bench.write(64, 64);
  bench.driver().ring(Qpn(1));
  const Time acknowledged = bench.scheduler.now() + 8_us;
  bench.arrive_at(acknowledged, bench.ack(100));
  bench.scheduler.run_until(acknowledged + kTimeout - 1_ns);
  CHECK(bench.said() == "RDMA WRITE Only 100; RDMA WRITE Only 101; ");
  bench.scheduler.run_until(acknowledged + kTimeout + 2_us);
  CHECK(bench.said() == "RDMA WRITE Only 101; ");
  CHECK(wqe_fetches(bench).back() == acknowledged + kTimeout);
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("after its retries a queue pair fails with retry exceeded one timeout after the last") {
  RcBench bench({}, with_timeout(1, 2));
  bench.write(0, 64);
  bench.driver().ring(Qpn(1));
  bench.arrive_at(bench.scheduler.now() + 5_us, bench.ack(100));
  bench.run();
  bench.said();
  bench.host.memory.log.clear();
  bench.write(0, 64);
  bench.write(64, 64);
  bench.ring();
  CHECK(bench.said() ==
        "RDMA WRITE Only 101; RDMA WRITE Only 102; RDMA WRITE Only 101; RDMA WRITE Only 102; "
        "RDMA WRITE Only 101; RDMA WRITE Only 102; ");
  const auto entries = bench.host.memory.of(DmaPurpose::kCompletionQueue);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].begin == kNicClock.after(given(bench, 5) + kTimeout, Cycles(6)));
  CHECK(bench.completions() == "0:0 1:12 2:5 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.metric("retransmitter.local_ack_timeout_err") == 3);
  CHECK(bench.host.metric("retransmitter.retries_exhausted") == 1);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("progress gives all retries back") {
  RcBench bench({}, with_timeout(1, 1));
  bench.write(0, 64);
  bench.write(64, 64);
  bench.driver().ring(Qpn(1));
  const Time start = bench.scheduler.now();
  bench.scheduler.run_until(start + 12_us);  // both again
  bench.arrive_at(start + 13_us, bench.ack(100));
  bench.scheduler.run_until(start + 23_us);  // the second again, for the first time
  CHECK(bench.said() ==
        "RDMA WRITE Only 100; RDMA WRITE Only 101; RDMA WRITE Only 100; RDMA WRITE Only 101; "
        "RDMA WRITE Only 101; ");
  bench.give({bench.ack(101)});
  CHECK(bench.completions() == "0:0 1:0 ");
  CHECK(bench.state() == QpState::kRts);
}

TEST_CASE("without a timeout nothing is ever sent again") {
  RcBench bench({}, with_timeout(0));
  bench.write(0, 64);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE Only 100; ");
  CHECK(bench.completions().empty());
}

TEST_CASE("an acknowledgement in time stops the timer") {
  RcBench bench({}, with_timeout(1));
  bench.write(0, 64);
  bench.driver().ring(Qpn(1));
  bench.arrive_at(bench.scheduler.now() + 5_us, bench.ack(100));
  bench.run();
  CHECK(bench.said() == "RDMA WRITE Only 100; ");
  CHECK(bench.host.metric("retransmitter.local_ack_timeout_err") == 0);
}

TEST_CASE("a sequence NAK has exactly its PSN and those behind it sent again") {
  check_go_back({}, 100,
                "RDMA WRITE First 100; RDMA WRITE Last 101; RDMA WRITE Only 102; "
                "RDMA WRITE First 103; RDMA WRITE Middle 104; RDMA WRITE Last 105; ");
}
TEST_CASE("a sequence NAK inside a message goes on inside it") {
  check_go_back({}, 101,
                "RDMA WRITE Last 101; RDMA WRITE Only 102; RDMA WRITE First 103; "
                "RDMA WRITE Middle 104; RDMA WRITE Last 105; ");
}
TEST_CASE("a sequence NAK of the last packet sends that alone again") {
  check_go_back({}, 105, "RDMA WRITE Last 105; ");
}
TEST_CASE("going back to 0 begins at the first packet of the message") {
  BenchOptions options;
  options.nic.retransmitter.mode = Retransmission::kGoBack0;
  check_go_back(options, 105, "RDMA WRITE First 103; RDMA WRITE Middle 104; RDMA WRITE Last 105; ");
}

TEST_CASE("packets that are sent again carry the bytes of their place, and complete once") {
  RcBench bench;
  bench.write(0, 2048);
  bench.write(2048, 2500);
  bench.ring();
  bench.give({bench.nak(103, NakCode::kPsnSequenceError)});
  REQUIRE(bench.wire.packets.size() == 7);
  CHECK(bench.sent(5) == bench.bytes_of(3072, 1476));
  CHECK(bench.wire.packets[6]->bth.ack_req);
  CHECK(bench.completions() == "0:0 ");  // the NAK acknowledges what is before it
  bench.give({bench.ack(104)});
  CHECK(bench.completions() == "1:0 ");
  CHECK(bench.driver().query_qp(Qpn(1)).next_send_psn == Psn(105));
}

TEST_CASE("the WQE of a NAK is fetched when the NAK comes, and sent as a new one would be") {
  RcBench bench;
  bench.write(0, 64);
  bench.ring();
  const Time came = bench.give({bench.nak(100, NakCode::kPsnSequenceError)});
  CHECK(wqe_fetches(bench).back() == came);
  CHECK(bench.start(1) == start_after_fetch(came));
}

TEST_CASE("what software has changed in the ring meanwhile is what is sent again") {
  RcBench bench;
  bench.write(0, 64);
  bench.ring();
  const std::uint64_t segment = bench.driver().send_ring(Qpn(1)) + 2 * abi::kSegmentBytes;
  abi::DataSegment{64, bench.region.key, VirtualAddress(bench.region.start + 640)}.write(
      bench.driver().at(segment));
  bench.give({bench.nak(100, NakCode::kPsnSequenceError)});
  CHECK(bench.sent(1) == bench.bytes_of(640, 64));
}

TEST_CASE("sequence NAKs exhaust the retries too") {
  RcBench bench({}, with_timeout(0, 1));
  bench.write(0, 64);
  bench.ring();
  bench.give({bench.nak(100, NakCode::kPsnSequenceError)});
  CHECK(bench.said() == "RDMA WRITE Only 100; RDMA WRITE Only 100; ");
  bench.give({bench.nak(100, NakCode::kPsnSequenceError)});
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:12 ");
}

TEST_CASE("a NAK of what has been acknowledged since sends nothing again") {
  RcBench bench;
  bench.write(0, 64);
  bench.write(64, 64);
  bench.write(128, 64);
  bench.ring();
  bench.said();
  bench.give({bench.ack(101), bench.nak(101, NakCode::kPsnSequenceError)});
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:0 1:0 ");
  bench.give({bench.ack(102)});
  CHECK(bench.completions() == "2:0 ");
}

TEST_CASE("an acknowledgement that crosses a message sent again completes it once it is sent") {
  RcBench bench({}, with_timeout(1));
  bench.write(0, 64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 12_us);
  // Both copies are acknowledged; the second acknowledgement has nothing left to do.
  bench.give({bench.ack(100), bench.ack(100)});
  CHECK(bench.said() == "RDMA WRITE Only 100; RDMA WRITE Only 100; ");
  CHECK(bench.completions() == "0:0 ");
  bench.write(64, 64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 2_us);
  CHECK(bench.said() == "RDMA WRITE Only 101; ");
}

TEST_CASE("a NAK while a message is being cut has its packets on their way dropped") {
  BenchOptions options;
  options.rate = BitRate::gbps(10);
  RcBench bench(options);
  bench.write(0, 20 * 1024);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 4_us);
  const std::size_t before = bench.wire.packets.size();
  REQUIRE(before >= 2);
  REQUIRE(before < 10);
  bench.give({bench.nak(101, NakCode::kPsnSequenceError)});
  // Those that stand at the port go out; then the rest, in order and without a gap.
  std::size_t i = before;
  while (bench.wire.packets[i]->bth.psn != Psn(101)) ++i;
  for (std::uint32_t psn = 101; psn < 120; ++psn, ++i)
    CHECK(bench.wire.packets[i]->bth.psn == Psn(psn));
  CHECK(i == bench.wire.packets.size());
  CHECK(bench.sent(i - 19) == bench.bytes_of(1024, 19 * 1024));
  bench.give({bench.ack(119)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.host.nic.idle());
}

TEST_CASE("an RNR NAK is waited for exactly as long as its timer says") {
  RcBench bench;
  bench.post(abi::WqeOpcode::kSend, 0, 64);
  bench.ring();
  bench.said();
  for (const std::uint8_t code : {1, 14, 0}) {
    bench.host.memory.log.clear();
    const Time came = bench.give({bench.rnr_nak(100, code)});
    CHECK(bench.said() == "SEND Only 100; ");
    CHECK(wqe_fetches(bench) == std::vector<Time>{came});
    const Time turn = kNicClock.after(came + rnr_timer(code), Cycles(20));
    CHECK(bench.payload(false)[0].begin == kNicClock.after(turn, Cycles(12)));
  }
  bench.give({bench.ack(100)});
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("what stands behind a SEND that was not received waits with it") {
  RcBench bench;
  bench.post(abi::WqeOpcode::kSend, 0, 64);
  bench.write(0, 64);
  bench.ring();
  bench.said();
  bench.arrive_at(bench.scheduler.now() + 10_ns, bench.rnr_nak(100, 14));
  bench.scheduler.run_until(bench.scheduler.now() + 500_us);
  bench.write(64, 64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 500_us);
  CHECK(bench.said().empty());
  bench.run();
  CHECK(bench.said() == "SEND Only 100; RDMA WRITE Only 101; RDMA WRITE Only 102; ");
}

TEST_CASE("after rnr_retry RNR NAKs the next fails with RNR retry exceeded") {
  QpOptions options = reliable();
  options.rnr_retry = 2;
  RcBench bench({}, options);
  bench.post(abi::WqeOpcode::kSend, 0, 64);
  bench.ring();
  bench.said();
  for (int i = 0; i < 2; ++i) {
    bench.give({bench.rnr_nak(100, 1)});
    CHECK(bench.said() == "SEND Only 100; ");
  }
  bench.give({bench.rnr_nak(100, 1)});
  CHECK(bench.said().empty());
  CHECK(bench.completions() == "0:13 ");
  CHECK(bench.state() == QpState::kErr);
}

TEST_CASE("an rnr_retry of 7 means for ever") {
  RcBench bench;
  bench.post(abi::WqeOpcode::kSend, 0, 64);
  bench.ring();
  bench.said();
  for (int i = 0; i < 300; ++i) {
    bench.give({bench.rnr_nak(100, 1)});
    REQUIRE(bench.said() == "SEND Only 100; ");
  }
  bench.give({bench.ack(100)});
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("the timeout rests while an RNR NAK is waited for") {
  RcBench bench({}, with_timeout(1));
  bench.post(abi::WqeOpcode::kSend, 0, 64);
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 2_us);
  const Time came = bench.scheduler.now() + 10_ns;
  bench.arrive_at(came, bench.rnr_nak(100, 14));  // 1.28 ms
  bench.scheduler.run_until(came + 1279_us);
  CHECK(bench.said() == "SEND Only 100; ");
  bench.scheduler.run_until(came + 1280_us + 2_us);
  CHECK(bench.said() == "SEND Only 100; ");
  bench.give({bench.ack(100)});
  CHECK(bench.host.metric("retransmitter.local_ack_timeout_err") == 0);
}

TEST_CASE("a queue pair that was reset does not send when an RNR timer ends") {
  RcBench bench;
  bench.post(abi::WqeOpcode::kSend, 0, 64);
  bench.ring();
  bench.said();
  bench.arrive_at(bench.scheduler.now() + 10_ns, bench.rnr_nak(100, 0));
  bench.scheduler.run_until(bench.scheduler.now() + 1_us);
  bench.driver().modify_qp(Qpn(1), QpState::kReset);
  bench.driver().reset_qp(Qpn(1));
  bench.driver().add_qp(Qpn(1), reliable());
  bench.run();
  CHECK(bench.said().empty());
  bench.write(0, 64);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE Only 100; ");
}
