// SPDX-License-Identifier: MIT
// The requester, seen from memory and wire.
#include "nic/requester.h"

#include <catch2/catch.hpp>
#include <map>

#include "tests/support/sender_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;
using test::kReadLatency;
using test::with_mtu;
using Bench = test::SenderBench;

namespace {

const Clock kClock{Frequency::mhz(400)};

/// Segments a message of 2.5 MTU at one path MTU and looks at every header.
void check_segmentation(std::uint8_t code) {
  Bench bench({}, with_mtu(code));
  const std::uint32_t mtu = 128U << code;
  const std::uint32_t bytes = 2 * mtu + mtu / 2;
  bench.send(bench.write(100, bytes));
  const auto& packets = bench.wire.packets;
  REQUIRE(packets.size() == 3);
  CHECK(packets[0]->bth.opcode == Opcode::kWriteFirst);
  CHECK(packets[1]->bth.opcode == Opcode::kWriteMiddle);
  CHECK(packets[2]->bth.opcode == Opcode::kWriteLast);
  CHECK(packets[0]->payload_length == Bytes(mtu));
  CHECK(packets[1]->payload_length == Bytes(mtu));
  CHECK(packets[2]->payload_length == Bytes(mtu / 2));
  CHECK(packets[0]->reth.virtual_address.value() == test::kRemote + 100);
  CHECK(packets[0]->reth.r_key == test::kRemoteKey);
  CHECK(packets[0]->reth.dma_length == bytes);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(packets[i]->bth.psn == Psn(100 + i));
    CHECK(packets[i]->bth.ack_req == (i == 2));
    CHECK(packets[i]->bth.dest_qp == Qpn(1));
    CHECK(icrc_ok(*packets[i]));
  }
  CHECK(bench.sent() == bench.bytes_of(100, bytes));
}

}  // namespace

TEST_CASE("a message is cut by a path MTU of 256 bytes") { check_segmentation(1); }
TEST_CASE("a message is cut by a path MTU of 512 bytes") { check_segmentation(2); }
TEST_CASE("a message is cut by a path MTU of 1024 bytes") { check_segmentation(3); }
TEST_CASE("a message is cut by a path MTU of 2048 bytes") { check_segmentation(4); }
TEST_CASE("a message is cut by a path MTU of 4096 bytes") { check_segmentation(5); }

TEST_CASE("a message of exactly the path MTU is one packet, one byte more makes two") {
  Bench bench({}, with_mtu(3));
  bench.send(bench.write(0, 1024));
  REQUIRE(bench.wire.packets.size() == 1);
  CHECK(bench.wire.packets[0]->bth.opcode == Opcode::kWriteOnly);
  CHECK(bench.wire.packets[0]->bth.ack_req);
  bench.send(bench.write(0, 1025));
  REQUIRE(bench.wire.packets.size() == 3);
  CHECK(bench.wire.packets[1]->bth.opcode == Opcode::kWriteFirst);
  CHECK(bench.wire.packets[2]->bth.opcode == Opcode::kWriteLast);
  CHECK(bench.wire.packets[2]->payload_length == Bytes(1));
  CHECK(bench.wire.packets[2]->bth.pad_count == 3);
  CHECK(bench.wire.packets[2]->bth.psn == Psn(102));
}

TEST_CASE("PSNs wrap at 2^24") {
  test::QpOptions options = with_mtu(1);
  options.send_psn = Psn(0xffffff);
  Bench bench({}, options);
  bench.send(bench.write(0, 512));
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.packets[0]->bth.psn == Psn(0xffffff));
  CHECK(bench.wire.packets[1]->bth.psn == Psn(0));
}

TEST_CASE("an acknowledgement is asked for at least every so many packets") {
  BenchOptions options;
  options.nic.requester.ack_request_interval = 3;
  Bench bench(options, with_mtu(1));
  bench.send(bench.write(0, 256 * 8));
  std::string asked;
  for (const PacketRef& packet : bench.wire.packets) asked += packet->bth.ack_req ? '1' : '0';
  CHECK(asked == "00100101");
}

TEST_CASE("a zero-length message is one packet without payload and reads nothing") {
  Bench bench;
  bench.send(bench.write(0, 0));
  REQUIRE(bench.wire.packets.size() == 1);
  CHECK(bench.wire.packets[0]->bth.opcode == Opcode::kWriteOnly);
  CHECK(bench.wire.packets[0]->reth.dma_length == 0);
  CHECK(bench.host.memory.of(DmaPurpose::kPayload).empty());
}

TEST_CASE("a gather list is read across segments, packets and pages, bytes in order") {
  Bench bench({}, with_mtu(3));
  auto w = bench.write(0, 0);
  const std::uint64_t base = bench.region.start;
  const MemoryKey key = bench.region.key;
  // 10 B over a page boundary, nothing, 2000 B, 3 B, 1500 B over another boundary.
  w.gather = {{base + 4090, 10, key},
              {base + 77, 0, key},
              {base + 5000, 2000, key},
              {base + 9, 3, key},
              {base + 3 * 4096 - 700, 1500, key}};
  bench.send(w);
  std::vector<std::uint8_t> expected = bench.bytes_of(4090, 10);
  for (const auto& [offset, bytes] :
       {std::pair{5000U, 2000U}, std::pair{9U, 3U}, std::pair{3U * 4096 - 700, 1500U}}) {
    const auto part = bench.bytes_of(offset, bytes);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  CHECK(bench.wire.packets.size() == 4);  // 3513 B
  CHECK(bench.sent() == expected);
}

TEST_CASE("inline data come out of the WQE without a payload read or a key") {
  Bench bench({}, with_mtu(1));
  auto w = bench.write(0, 0);
  for (int i = 0; i < 300; ++i) w.inlined.push_back(static_cast<std::uint8_t>(i * 3));
  bench.send(w);
  REQUIRE(bench.wire.packets.size() == 2);  // of six basic blocks
  CHECK(bench.sent() == w.inlined);
  CHECK(bench.host.memory.of(DmaPurpose::kPayload).empty());
  CHECK(bench.host.memory.of(DmaPurpose::kKeyTable).empty());
}

TEST_CASE("elided payload has the times of carried payload") {
  // One process, one kernel: the elided run is compared with arithmetic's result of the other.
  BenchOptions options;
  options.elided = true;
  Bench bench(options);
  bench.send(bench.write(0, 4096));  // fills the caches
  bench.send(bench.write(0, 10000));
  REQUIRE(bench.wire.packets.size() == 4);
  CHECK(bench.wire.packets[1]->payload_elided);
  CHECK(bench.host.memory.of(DmaPurpose::kPayload).size() > 0);
  for (const auto& access : bench.host.memory.of(DmaPurpose::kPayload)) CHECK(access.elided);
}

TEST_CASE("with warm caches every stage takes its cycles from doorbell to wire") {
  Bench bench;
  bench.send(bench.write(0, 64));
  bench.host.memory.log.clear();
  const Time rung = bench.scheduler.now();
  bench.send(bench.write(0, 64));

  const Time doorbell = kClock.after(rung, Cycles(8));
  const auto wqe = bench.host.memory.of(DmaPurpose::kSendQueue);
  REQUIRE(wqe.size() == 1);
  CHECK(wqe[0].begin == doorbell);
  CHECK(wqe[0].bytes == 64);
  CHECK(wqe[0].engine == DmaEngineId::kQueueRead);
  const Time turn = kClock.after(doorbell + kReadLatency, Cycles(20));
  // Key look-up 4, four states of one cycle, translation 4.
  const Time checked = kClock.after(turn, Cycles(12));
  const auto payload = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(payload.size() == 1);
  CHECK(payload[0].begin == checked);
  CHECK(payload[0].engine == DmaEngineId::kPayloadRead);
  CHECK(bench.start(1) == kClock.after(checked + kReadLatency, Cycles(8)));
  CHECK(bench.host.memory.log.size() == 2);
}

TEST_CASE("cold caches add one read each for key and translation") {
  Bench bench;
  const Time rung = bench.scheduler.now();
  bench.send(bench.write(0, 64));
  const Time turn = kClock.after(kClock.after(rung, Cycles(8)) + kReadLatency, Cycles(20));
  const auto key = bench.host.memory.of(DmaPurpose::kKeyTable);
  REQUIRE(key.size() == 1);
  CHECK(key[0].begin == turn);
  const auto table = bench.host.memory.of(DmaPurpose::kTranslationTable);
  REQUIRE(table.size() == 1);
  CHECK(table[0].begin == turn + kReadLatency);
  const auto payload = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(payload.size() == 1);
  CHECK(payload[0].begin == kClock.after(turn + kReadLatency * 2, Cycles(12)));
}

TEST_CASE("WQEs of one queue pair start the pacing interval apart") {
  Bench bench;
  bench.send(bench.write(0, 64));
  for (int i = 0; i < 4; ++i) bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.driver().ring(Qpn(1));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 5);
  for (std::size_t i = 2; i < 5; ++i) CHECK(bench.start(i) - bench.start(i - 1) == 140_ns);
}

TEST_CASE("without pacing packets follow at the pipeline's interval") {
  BenchOptions options;
  options.nic.requester.wqe_interval = Time();
  options.rate = BitRate::gbps(400);
  Bench bench(options, with_mtu(1));
  bench.send(bench.write(0, 64));
  for (int i = 0; i < 4; ++i) bench.driver().post(Qpn(1), bench.write(0, 64));
  bench.driver().ring(Qpn(1));
  bench.run();
  bench.send(bench.write(0, 1024));
  REQUIRE(bench.wire.packets.size() == 9);
  const auto start = [&](std::size_t i) {
    return bench.wire.packets[i]->head - ByteTime(options.rate).of(kPreambleBytes);
  };
  for (const std::size_t i : {2, 3, 4})
    CHECK(start(i) - start(i - 1) == kClock.duration(Cycles(4)));
  // Within a message the first packet is checked longest; the others read at the interval.
  const auto reads = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(reads.size() == 9);
  for (const std::size_t i : {7, 8})
    CHECK(reads[i].begin - reads[i - 1].begin == (i == 7 ? Time() : kClock.duration(Cycles(4))));
}

TEST_CASE("READs of all queue pairs together start no closer than their interval, WRITEs do") {
  BenchOptions options;
  options.nic.requester.wqe_interval = Time();
  options.nic.requester.read_interval = 16_ns;  // 6.4 cycles of 2.5 ns; the pipeline has 4
  test::QpOptions qp;
  qp.max_rd_atomic = 4;
  Bench bench(options, qp);
  bench.driver().add_qp(Qpn(2), qp);
  const auto post_all = [&](abi::WqeOpcode opcode) {
    test::MiniDriver::Write w = bench.write(0, 64);
    w.opcode = opcode;
    for (int i = 0; i < 4; ++i)
      for (const Qpn qpn : {Qpn(1), Qpn(2)}) bench.driver().post(qpn, w);
    for (const Qpn qpn : {Qpn(1), Qpn(2)}) bench.driver().ring(qpn);
    bench.run();
  };
  post_all(abi::WqeOpcode::kRdmaWrite);  // fetches contexts, key and translation
  bench.wire.packets.clear();
  post_all(abi::WqeOpcode::kRdmaRead);
  REQUIRE(bench.wire.packets.size() == 8);
  // The last six follow each other; 5 x 16 ns are 32 cycles.
  CHECK(bench.start(7) - bench.start(2) == 80_ns);
  for (std::size_t i = 3; i < 8; ++i) CHECK(bench.start(i) - bench.start(i - 1) >= 15_ns);
}

TEST_CASE("queue pairs take turns, a packet each") {
  Bench bench({}, with_mtu(1));
  bench.driver().add_qp(Qpn(2), with_mtu(1));
  bench.driver().post(Qpn(1), bench.write(0, 1024));
  test::MiniDriver::Write second = bench.write(0, 1024);
  bench.driver().post(Qpn(2), second);
  bench.driver().ring(Qpn(1));
  bench.driver().ring(Qpn(2));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 8);
  // The first queue pair has a head start of the doorbell's interval only.
  std::map<std::uint64_t, int> before_last;
  for (std::size_t i = 0; i < 6; ++i)
    ++before_last[bench.wire.packets[i]->work_request.qpn().value()];
  CHECK(before_last[1] == 3);
  CHECK(before_last[2] == 3);
}

TEST_CASE("a full transmit buffer holds packets back until the wire has taken some") {
  BenchOptions options;
  options.rate = BitRate::gbps(10);
  options.nic.requester.transmit_buffer = Bytes(8192);
  Bench bench(options);
  bench.send(bench.write(0, 4096));
  bench.host.memory.log.clear();
  bench.send(bench.write(0, 5 * 4096));
  const auto reads = bench.host.memory.of(DmaPurpose::kPayload);
  REQUIRE(bench.wire.packets.size() == 6);
  REQUIRE(reads.size() == 5);
  const auto start = [&](std::size_t i) { return bench.wire.packets[i]->head - Time::ps(800) * 8; };
  // Two packets fit. The third enters when the first has begun to leave, and so on.
  for (std::size_t i = 2; i < 5; ++i)
    CHECK(reads[i].begin == kClock.after(kClock.after(start(i - 1), Cycles(20)), Cycles(4)));
  CHECK(bench.host.nic.idle());
  CHECK(bench.host.metric("requester.occupancy.max") == 8192);
}

TEST_CASE(
    "a priority that is paused fills its own transmit buffer and keeps no other from sending") {
  BenchOptions options;
  options.nic.requester.transmit_buffer = Bytes(8192);
  options.nic.port.pause.response_time = Time();
  test::QpOptions lossless;
  lossless.dscp = 26;
  Bench bench(options, lossless);
  bench.driver().add_qp(Qpn(2), with_mtu(5));
  PacketRef pause = bench.pool.create();
  pause->kind = FrameKind::kPause;
  PauseFrame frame;
  frame.classes = 1U << 3;
  frame.quanta.fill(0xffff);
  pause->pause = frame;
  bench.host.nic.port().receive(pause);
  bench.scheduler.run_until(bench.scheduler.now() + 1_us);
  bench.driver().post(Qpn(1), bench.write(0, 5 * 4096));
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(bench.scheduler.now() + 20_us);
  CHECK(bench.wire.packets.empty());
  bench.driver().post(Qpn(2), bench.write(0, 5 * 4096));
  bench.driver().ring(Qpn(2));
  bench.scheduler.run_until(bench.scheduler.now() + 20_us);
  REQUIRE(bench.wire.packets.size() == 5);
  for (const PacketRef& packet : bench.wire.packets) CHECK(packet->work_request.qpn() == Qpn(2));
}

TEST_CASE("payload is read in the order of the packets, cold and warm") {
  BenchOptions options;
  Bench bench(options, with_mtu(3));
  for (int round = 0; round < 2; ++round) {
    bench.host.probes.records.clear();
    bench.send(bench.write(0, 8 * 1024));
    const auto reads = bench.host.probes.of(ProbeKind::kPayloadReadStart);
    REQUIRE(reads.size() == 8);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      CHECK(reads[i].a == i * 1024);
      if (i != 0) CHECK(reads[i].time >= reads[i - 1].time);
    }
    // The first packet does not wait for the last one's payload.
    const auto ends = bench.host.probes.of(ProbeKind::kPayloadReadEnd);
    REQUIRE(ends.size() == 8);
    CHECK(bench.start(bench.wire.packets.size() - 8) < ends.back().time + kReadLatency);
  }
}
