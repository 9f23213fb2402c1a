// SPDX-License-Identifier: MIT
// Congestion control in a whole NIC: what marked packets and CNPs do, as the wire sees it.
#include "nic/congestion/congestion_unit.h"

#include <catch2/catch.hpp>

#include "tests/support/rc_bench.h"
#include "tests/support/sender_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::BenchOptions;

namespace {

const Clock kClock{Frequency::mhz(400)};

BenchOptions with(CongestionAlgorithm algorithm) {
  BenchOptions options;
  options.nic.congestion_control.config.algorithm = algorithm;
  return options;
}

struct Bench : test::SenderBench {
  explicit Bench(CongestionAlgorithm algorithm = CongestionAlgorithm::kDcqcn)
      : SenderBench(with(algorithm)) {}
  explicit Bench(const BenchOptions& options, const test::QpOptions& qp = {})
      : SenderBench(options, qp) {}

  PacketRef marked(std::uint32_t psn) {
    PacketRef packet = write_request(Opcode::kWriteOnly, Psn(psn), 64, region, 0, 64);
    packet->ipv4.ecn = Ecn::kCongestion;
    packet->bth.ack_req = false;
    return packet;
  }
  PacketRef cnp() {
    PacketRef packet = pool.create();
    packet->bth.transport = WireTransport::kCnp;
    packet->bth.opcode = kCnpOpcode;
    packet->bth.dest_qp = Qpn(1);
    packet->set_payload_length(Bytes(kCnpReservedBytes));
    std::fill_n(packet->payload(), kCnpReservedBytes, std::uint8_t{0});
    return packet;
  }
  std::uint64_t metric(const std::string& name) {
    return host.metric("congestion_control." + name);
  }
  /// Acknowledges what has been sent, the last packet's round trip being `rtt`.
  PacketRef answer(std::size_t to, Time at, Time rtt) {
    PacketRef ack = response(wire.packets[to]->bth.psn, Aeth::ack(0, 1));
    ack->tail = at;
    ack->departed = at - rtt;
    return ack;
  }
};

}  // namespace

TEST_CASE("a marked packet is answered with a CNP, which says so and nothing else") {
  Bench bench;
  bench.arrive_at(bench.scheduler.now() + 10_ns, bench.marked(100));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 1);
  const Packet& cnp = *bench.wire.packets[0];
  CHECK(cnp.bth.transport == WireTransport::kCnp);
  CHECK(cnp.bth.opcode == kCnpOpcode);
  CHECK(cnp.bth.becn);
  CHECK_FALSE(cnp.bth.ack_req);
  CHECK(cnp.bth.psn == Psn(0));
  CHECK(cnp.bth.dest_qp == Qpn(1));
  CHECK(cnp.ipv4.dscp == 48);
  CHECK(cnp.ipv4.ecn == Ecn::kNotCapable);
  CHECK(cnp.payload_length == Bytes(16));
  CHECK(std::all_of(cnp.payload(), cnp.payload() + 16, [](std::uint8_t b) { return b == 0; }));
  CHECK(icrc_ok(cnp));
}

TEST_CASE("there is one CNP a queue pair and interval, to the picosecond") {
  Bench bench;
  const Time start = kClock.edge_at_or_after(bench.scheduler.now() + 1_us);
  std::uint32_t psn = 101;
  PacketRef first = bench.marked(100);  // brings the context
  first->ipv4.ecn = Ecn::kCapable0;
  bench.arrive_at(start - 900_ns, std::move(first));
  for (const Time at : {0_ns, 100_ns, 49'900_ns, 50'000_ns, 99'900_ns, 100'000_ns})
    bench.arrive_at(start + at, bench.marked(psn++));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 3);
  CHECK(bench.start(1) - bench.start(0) == 50_us);
  CHECK(bench.start(2) - bench.start(1) == 50_us);
  CHECK(bench.metric("np_cnp_sent") == 3);
  CHECK(bench.metric("np_ecn_marked_roce_packets") == 6);
}

TEST_CASE("what is not marked brings no CNP") {
  Bench bench;
  PacketRef packet = bench.marked(100);
  packet->ipv4.ecn = Ecn::kCapable0;
  bench.arrive_at(bench.scheduler.now() + 10_ns, std::move(packet));
  bench.run();
  CHECK(bench.wire.packets.empty());
  CHECK(bench.metric("np_ecn_marked_roce_packets") == 0);
}

TEST_CASE("a NIC without DCQCN sends no CNP, and packets that are not ECN capable") {
  Bench bench(CongestionAlgorithm::kNone);
  bench.arrive_at(bench.scheduler.now() + 10_ns, bench.marked(100));
  bench.run();
  CHECK(bench.wire.packets.empty());
  bench.send(bench.write(0, 64));
  CHECK(bench.wire.packets[0]->ipv4.ecn == Ecn::kNotCapable);
}

TEST_CASE("with DCQCN packets are ECN capable") {
  Bench bench;
  bench.send(bench.write(0, 64));
  CHECK(bench.wire.packets[0]->ipv4.ecn == Ecn::kCapable0);
}

TEST_CASE("HPCC needs no ECN") {
  Bench bench(CongestionAlgorithm::kHpcc);
  bench.send(bench.write(0, 64));
  CHECK(bench.wire.packets[0]->ipv4.ecn == Ecn::kNotCapable);
}

TEST_CASE("after a CNP packets leave at half of line rate, not slower for the clock's grid") {
  Bench bench;
  const auto write = bench.write(0, 8 * 4096);
  bench.send(write);  // brings contexts and translations
  bench.arrive_at(bench.scheduler.now() + 10_ns, bench.cnp());
  bench.run();
  CHECK(bench.metric("rp_cnp_handled") == 1);
  bench.wire.packets.clear();
  bench.send(write);
  REQUIRE(bench.wire.packets.size() == 8);
  // 4194 B on the wire with the RETH, 4178 B each behind it, at 50 Gb/s; turns are on clock edges.
  // The first packet takes longer behind its turn, for the key.
  const auto turn = [](std::int64_t i) {
    return kClock.edge_at_or_after(4194 * 160_ps + (i - 1) * 4178 * 160_ps);
  };
  for (std::size_t i = 2; i < 8; ++i)
    CHECK(bench.start(i) - bench.start(1) == turn(static_cast<std::int64_t>(i)) - turn(1));
}

TEST_CASE("a CNP for nobody, or where there is no DCQCN, is ignored and counted") {
  Bench none(CongestionAlgorithm::kNone);
  none.send(none.write(0, 64));
  none.arrive_at(none.scheduler.now() + 10_ns, none.cnp());
  none.run();
  CHECK(none.metric("rp_cnp_ignored") == 1);
  CHECK(none.metric("rp_cnp_handled") == 0);
}

TEST_CASE("a CNP for a queue pair that does not exist, or has sent nothing, is ignored") {
  Bench bench;
  PacketRef stray = bench.cnp();
  stray->bth.dest_qp = Qpn(0x123456);
  bench.arrive_at(bench.scheduler.now() + 10_ns, std::move(stray));
  bench.arrive_at(bench.scheduler.now() + 20_ns, bench.cnp());
  bench.run();
  CHECK(bench.metric("rp_cnp_ignored") == 2);
}

TEST_CASE("a window holds packets until an acknowledgement, which the last in it asks for") {
  BenchOptions options = with(CongestionAlgorithm::kSwift);
  options.nic.congestion_control.config.swift.max_window = 8_KiB;
  options.nic.congestion_control.config.swift.ack_interval = 64;
  Bench bench(options);
  auto big = bench.write(0, 12'288);
  big.gather.push_back(big.gather[0]);
  bench.send(big);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK_FALSE(bench.wire.packets[0]->bth.ack_req);
  CHECK(bench.wire.packets[1]->bth.ack_req);
  const Time at = bench.scheduler.now() + 1_us;
  bench.arrive_at(at, bench.answer(1, at, 5_us));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 4);
  CHECK(bench.start(2) > at);
  CHECK(bench.metric("window_closed") == 1);
}

TEST_CASE("a request of HPCC collects telemetry; its acknowledgement brings it back") {
  Bench bench(CongestionAlgorithm::kHpcc);
  bench.send(bench.write(0, 64));
  CHECK(bench.wire.packets[0]->telemetry_bytes == 2);
  CHECK(bench.wire.packets[0]->frame_bytes() == Bytes(14 + 20 + 8 + 12 + 16 + 64 + 4 + 2 + 4));
  CHECK(bench.wire.packets[0]->departed == bench.wire.packets[0]->tail);
  PacketRef request = bench.write_request(Opcode::kWriteOnly, Psn(100), 64, bench.region, 0, 64);
  request->begin_telemetry();
  request->add_hop(0x1234);
  request->departed = 77_ns;
  bench.arrive_at(bench.scheduler.now() + 10_ns, std::move(request));
  bench.run();
  const Packet& ack = *bench.wire.packets[1];
  REQUIRE(ack.hops() == 1);
  CHECK(ack.hop(0) == 0x1234);
  CHECK(ack.departed == 77_ns);
}

TEST_CASE("marked READ responses bring CNPs to who sends them") {
  Bench bench;
  PacketRef answer = bench.request(Opcode::kReadResponseOnly, Psn(100), 64);
  answer->ipv4.ecn = Ecn::kCongestion;
  bench.arrive_at(bench.scheduler.now() + 10_ns, std::move(answer));
  bench.run();
  REQUIRE(bench.wire.packets.size() == 1);
  CHECK(bench.wire.packets[0]->bth.transport == WireTransport::kCnp);
}

TEST_CASE("a window that nobody acknowledges is sent again, and opens with the answer") {
  BenchOptions options = with(CongestionAlgorithm::kSwift);
  options.nic.congestion_control.config.swift.max_window = 8_KiB;
  test::QpOptions qp;
  qp.ack_timeout = 1;
  qp.retry_count = 1;
  Bench bench(options, qp);
  auto big = bench.write(0, 12'288);
  bench.driver().post(Qpn(1), big);
  bench.driver().ring(Qpn(1));
  const Time end = bench.scheduler.now() + 12_us;
  bench.scheduler.run_until(end);
  REQUIRE(bench.wire.packets.size() == 4);
  CHECK(bench.wire.packets[2]->bth.psn == Psn(100));
  CHECK(bench.wire.packets[3]->bth.psn == Psn(101));
  bench.arrive_at(end + 1_us, bench.answer(3, end + 1_us, 1_us));
  bench.scheduler.run_until(end + 3_us);
  REQUIRE(bench.wire.packets.size() == 5);
  CHECK(bench.wire.packets[4]->bth.psn == Psn(102));
}

TEST_CASE("READ responses are paced by the same rate") {
  test::QpOptions qp;
  qp.max_dest_rd_atomic = 4;
  Bench bench(with(CongestionAlgorithm::kDcqcn), qp);
  const auto read = [&](std::uint32_t psn, std::uint32_t bytes) {
    PacketRef request = bench.request(Opcode::kReadRequest, Psn(psn), 0);
    request->reth.virtual_address = VirtualAddress(bench.region.start);
    request->reth.r_key = bench.region.key;
    request->reth.dma_length = bytes;
    bench.arrive_at(bench.scheduler.now() + 10_ns, std::move(request));
    bench.run();
  };
  read(100, 64);
  bench.arrive_at(bench.scheduler.now() + 10_ns, bench.cnp());
  bench.run();
  CHECK(bench.metric("rp_cnp_handled") == 1);
  read(101, 12'288);
  REQUIRE(bench.wire.packets.size() == 4);
  // First with AETH, 4182 B on the wire; the middle one 4178 B; at 50 Gb/s.
  CHECK(bench.start(2) - bench.start(1) == kClock.edge_at_or_after(4182 * 160_ps));
  CHECK(bench.start(3) - bench.start(1) == kClock.edge_at_or_after((4182 + 4178) * 160_ps));
}

TEST_CASE("a rate that is raised brings the next packet forward") {
  BenchOptions options = with(CongestionAlgorithm::kDcqcn);
  DcqcnConfig& dcqcn = options.nic.congestion_control.config.dcqcn;
  dcqcn.rate_on_first_cnp = dcqcn.min_rate = BitRate(1'000'000);  // a packet takes 33 ms
  dcqcn.rate_timer = 10_us;                                       // then half of line rate
  dcqcn.byte_counter = Bytes(0);
  Bench bench(options);
  bench.send(bench.write(0, 4 * 4096));
  bench.wire.packets.clear();
  const Time cnp = kClock.edge_at_or_after(bench.scheduler.now() + 10_ns);
  bench.arrive_at(cnp, bench.cnp());
  bench.scheduler.run_until(cnp + 1_us);
  bench.driver().post(Qpn(1), bench.write(0, 4 * 4096));
  bench.driver().ring(Qpn(1));
  bench.scheduler.run_until(cnp + 10_us);
  CHECK(bench.wire.packets.size() == 1);
  bench.scheduler.run_until(cnp + 20_us);
  REQUIRE(bench.wire.packets.size() == 4);
  CHECK(bench.start(1) > cnp + 10_us);
  CHECK(bench.start(1) < cnp + 11_us);
  CHECK(bench.start(3) - bench.start(2) ==
        kClock.edge_at_or_after(2 * 4178 * 160_ps) - kClock.edge_at_or_after(4178 * 160_ps));
}
