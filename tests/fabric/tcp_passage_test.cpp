// SPDX-License-Identifier: MIT
// Segments of TCP on the same links and switches as RoCE.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "model/frame.h"
#include "model/icrc.h"
#include "tests/support/switch_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SwitchBench;

namespace {

TcpHeader header() {
  TcpHeader header;
  header.source_port = 40000;
  header.destination_port = 80;
  header.sequence = TcpSeq(77);
  header.ack = true;
  header.has_timestamps = true;
  header.timestamp = 1234;
  return header;
}

/// From end 1, with its bytes.
PacketRef segment(SwitchBench& bench, std::uint32_t to, std::uint64_t length) {
  PacketRef packet = bench.ends[0].make({to, 1});
  packet->become_tcp(header(), Bytes(length), false);
  for (std::uint64_t i = 0; i < length; ++i)
    packet->payload()[i] = static_cast<std::uint8_t>(i * 5 + 1);
  seal_icrc(*packet);
  return packet;
}

std::vector<std::uint8_t> segment_bytes(const Packet& packet) {
  std::vector<std::uint8_t> frame;
  write_frame(packet, frame);
  return {frame.begin() + EthernetHeader::kBytes + Ipv4Header::kBytes, frame.end()};
}

}  // namespace

TEST_CASE("a segment passes a router with header and bytes as they were") {
  SwitchBench bench(SwitchConfig{});
  const PacketRef sent = segment(bench, 2, 1448);
  const auto bytes = segment_bytes(*sent);
  bench.ends[0].send(sent);
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
  bench.check_conservation();
  REQUIRE(bench.ends[1].last);
  const Packet& came = *bench.ends[1].last;
  CHECK(came.is_tcp());
  CHECK(came.ipv4.ttl == 63);
  CHECK(came.frame_bytes() == 1518_B);
  CHECK(icrc_ok(came));
  CHECK(segment_bytes(came) == bytes);
}

TEST_CASE("a segment takes the time of its own length on the wire") {
  SwitchBench bench(SwitchConfig{});
  bench.ends[0].send(segment(bench, 2, 1448));
  bench.scheduler.run_until(1_ms);
  const auto arrival = bench.ends[1].arrivals.at(0);
  CHECK(arrival.tail - arrival.head == Time::ps(1518 * 80));  // 100 Gb/s
}

namespace {

/// Segments of priority 0 from end 1 to end 3, one behind the other from `from` on; RDMA's
/// priority is 3.
struct Segments {
  Segments(SwitchBench& to, Time from, int count) : bench(to) {
    for (int i = 0; i < count; ++i)
      bench.scheduler.at(from + kSlot * i, call<&Segments::send>(this));
  }
  void send() {
    PacketRef packet = segment(bench, 3, 1448);
    packet->ipv4.dscp = 0;
    packet->priority = 0;
    bench.ends[0].send(std::move(packet));
  }
  static constexpr Time kSlot = Time::ps((1518 + 20) * 80);  // at 100 Gb/s
  SwitchBench& bench;
};

std::size_t arrived_from(const SwitchBench& bench, std::uint32_t end) {
  const auto& arrivals = bench.ends[2].arrivals;
  return static_cast<std::size_t>(std::count_if(
      arrivals.begin(), arrivals.end(), [&](const auto& arrival) { return arrival.from == end; }));
}

}  // namespace

TEST_CASE("where TCP fills its lossy priority's buffer it loses segments, and RDMA nothing") {
  SwitchConfig config;
  config.buffer.model = BufferModel::kStatic;
  config.buffer.threshold = Bytes(100 * 1024);
  config.egress.weights = {{0, 1}, {3, 1}};
  SwitchBench bench(config);
  const Segments segments(bench, 1_us, 2000);
  bench.ends[1].start({3, 1000});
  bench.scheduler.run_until(10_ms);
  bench.check_conservation();
  const std::uint64_t lost = bench.the_switch.port_totals(0).dropped_packets;
  CHECK(lost > 500);
  CHECK(arrived_from(bench, 1) == 2000 - lost);
  CHECK(bench.the_switch.port_totals(1).dropped_packets == 0);
  CHECK(arrived_from(bench, 2) == 1000);
  CHECK(bench.ends[1].pauses_received > 0);
  CHECK(bench.ends[0].pauses_received == 0);
}

TEST_CASE("a pause of RDMA's priority behind a switch does not hold up TCP") {
  SwitchConfig config;
  SwitchBench bench(config);
  bench.ends[2].requester().xoff(3);
  bench.scheduler.run_until(10_us);
  bench.ends[1].start({3, 100});
  const Segments segments(bench, 10_us, 100);
  bench.scheduler.run_until(100_us);
  CHECK(arrived_from(bench, 1) == 100);
  CHECK(arrived_from(bench, 2) == 0);
  bench.ends[2].requester().xon(3);
  bench.scheduler.run_until(1_ms);
  CHECK(arrived_from(bench, 2) == 100);
  bench.check_conservation();
}

TEST_CASE("a long queue marks segments that are capable, and their checksum stays right") {
  SwitchConfig config;
  EcnConfig ecn;
  ecn.priority = 3;
  ecn.kmin = ecn.kmax = Bytes(3000);
  config.egress.ecn = {ecn};
  SwitchBench bench(config);
  bench.ends[2].requester().xoff(3);
  bench.scheduler.run_until(10_us);
  for (const Ecn field : {Ecn::kNotCapable, Ecn::kCapable0, Ecn::kNotCapable, Ecn::kCapable0}) {
    PacketRef packet = segment(bench, 3, 1448);
    packet->ipv4.ecn = field;
    bench.ends[0].send(std::move(packet));
    bench.scheduler.run_until(bench.scheduler.now() + 1_us);
  }
  bench.ends[2].requester().xon(3);
  bench.scheduler.run_until(1_ms);
  bench.check_conservation();
  CHECK(bench.ends[2].received_packets == 4);
  CHECK(bench.metric("port2.ecn_marked") == 1);  // the second of four; the last is alone
  CHECK(icrc_ok(*bench.ends[2].last));
}
