// SPDX-License-Identifier: MIT
// A packet's way through one switch: times, rewriting, choices, what is refused. Flow control:
// lossless_test.cpp.
#include "fabric/switch.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "model/icrc.h"
#include "tests/support/switch_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::Cable;
using test::FakeEnd;
using test::SwitchBench;

namespace {

/// One packet of 1086 B from end 1 to end 2, over 3 m: when does it arrive?
FakeEnd::Arrival crossing(bool cut_through, std::uint64_t gbps_in, std::uint64_t gbps_out) {
  SwitchConfig config;
  config.cut_through = cut_through;
  SwitchBench bench(config, {{BitRate::gbps(gbps_in)}, {BitRate::gbps(gbps_out)}});
  bench.ends[0].start({2, 1, 1024});
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
  bench.check_conservation();
  REQUIRE(bench.ends[1].arrivals.size() == 1);
  CHECK(bench.ends[1].arrivals[0].given == bench.ends[1].arrivals[0].tail);
  return bench.ends[1].arrivals[0];
}

/// Sends one packet from end 1 and runs until all is quiet.
void send(SwitchBench& bench, PacketRef packet) {
  bench.ends[0].send(std::move(packet));
  CHECK(bench.scheduler.run_until(bench.scheduler.now() + 1_ms) == Scheduler::End::kIdle);
  bench.check_conservation();
}

SwitchConfig with(PathChoice choice) {
  SwitchConfig config;
  config.path_choice = choice;
  return config;
}

SwitchConfig bridge() {
  SwitchConfig config;
  config.forwarding = Forwarding::kBridged;
  return config;
}

constexpr Time kCable = Time::ns(15);

}  // namespace

TEST_CASE("store and forward: latency counts from the edge at or after the last bit") {
  const auto arrival = crossing(false, 100, 100);
  // In: 8 + 1086 B at 80 ps, 15 ns: 102.52 ns; edge 103, 250 cycles.
  CHECK(arrival.head == 353_ns + Time::ps(640) + kCable);
  CHECK(arrival.tail == 353_ns + Time::ps(640 + 86880) + kCable);
}

TEST_CASE("cut through: latency counts from the edge at or after the first 64 B") {
  const auto arrival = crossing(true, 100, 100);
  // In: 8 + 64 B, 15 ns: 20.76 ns; edge 21.
  CHECK(arrival.head == 271_ns + Time::ps(640) + kCable);
  CHECK(arrival.tail == 271_ns + Time::ps(640 + 86880) + kCable);
}

TEST_CASE("cut through to a slower port begins as early, and takes the slower port's time") {
  const auto arrival = crossing(true, 400, 100);
  // In: 8 + 64 B at 20 ps, 15 ns: 16.44 ns; edge 17.
  CHECK(arrival.head == 267_ns + Time::ps(640) + kCable);
  CHECK(arrival.tail == 267_ns + Time::ps(640 + 86880) + kCable);
}

TEST_CASE("cut through to a faster port begins so late that the last bit has come in time") {
  const auto arrival = crossing(true, 100, 400);
  // The last bit comes at 102.52 ns and 1086 B take 21.72 ns: 80.8 ns; edge 81.
  CHECK(arrival.head == 331_ns + Time::ps(160) + kCable);
  CHECK(arrival.tail == 331_ns + Time::ps(160 + 21720) + kCable);
  CHECK(arrival.tail - kCable >= Time::ps(102520) + 250_ns);
}

TEST_CASE("store and forward to a slower port takes each port's own time") {
  const auto arrival = crossing(false, 400, 100);
  // In: 8 + 1086 B at 20 ps, 15 ns: 36.88 ns; edge 37.
  CHECK(arrival.head == 287_ns + Time::ps(640) + kCable);
}

TEST_CASE("a stream leaves at the port's rate, one latency behind") {
  SwitchBench bench(SwitchConfig{});
  bench.ends[0].start({2, 100, 1024});
  bench.scheduler.run_until(1_ms);
  bench.check_conservation();
  const auto& arrivals = bench.ends[1].arrivals;
  REQUIRE(arrivals.size() == 100);
  for (std::uint32_t i = 0; i < 100; ++i) {
    CHECK(arrivals[i].psn == i);
    // Packet i is ready 250 cycles after the edge at or after its last bit, and never in the way of
    // the one before.
    const std::int64_t last_bit = 87520 + 15000 + 88480LL * i;
    const std::int64_t ready = (last_bit + 999) / 1000 * 1000 + 250000;
    const Time free = i == 0 ? Time() : arrivals[i - 1].tail - kCable + Time::ps(960);
    CHECK(arrivals[i].head == std::max(Time::ps(ready), free) + Time::ps(640) + kCable);
  }
}

TEST_CASE("a router counts the TTL down and puts its own address in") {
  SwitchBench bench(SwitchConfig{});
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->ipv4.ttl = 2;
  packet->payload_elided = false;
  seal_icrc(*packet);
  send(bench, std::move(packet));
  REQUIRE(bench.ends[1].last);
  const Packet& last = *bench.ends[1].last;
  CHECK(last.ipv4.ttl == 1);
  CHECK(last.eth.source == abi::MacAddress{0x02, 0x01, 0, 0, 0, 7});
  CHECK(last.eth.source == bench.the_switch.mac());
  CHECK(last.eth.destination == test::end_mac(2));
  CHECK(icrc_ok(last));
}

TEST_CASE("a packet whose TTL has run out is dropped at a router") {
  SwitchBench bench(SwitchConfig{});
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->ipv4.ttl = 1;
  send(bench, std::move(packet));
  CHECK(bench.ends[1].received_packets == 0);
  CHECK(bench.metric("port0.rx_ttl_expired") == 1);
}

TEST_CASE("a bridge leaves a frame as it came, whatever its TTL") {
  SwitchBench bench(bridge());
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->ipv4.ttl = 1;
  packet->ipv4.destination = test::end_address(3);  // which a bridge does not look at
  packet->tagged = true;
  packet->vlan = {3, false, 9};
  send(bench, std::move(packet));
  REQUIRE(bench.ends[1].last);
  const Packet& last = *bench.ends[1].last;
  CHECK(last.ipv4.ttl == 1);
  CHECK(last.eth.source == test::end_mac(1));
  CHECK(last.eth.destination == test::end_mac(2));
  CHECK(last.tagged);
  CHECK(last.vlan.id == 9);
}

TEST_CASE("RoCEv1 is refused by a router") {
  SwitchBench bench(SwitchConfig{});
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->link_layer = LinkLayer::kRoceV1;
  send(bench, std::move(packet));
  CHECK(bench.ends[1].received_packets == 0);
  CHECK(bench.metric("port0.rx_not_routable") == 1);
}

TEST_CASE("RoCEv1 passes a bridge") {
  SwitchBench bench(bridge());
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->link_layer = LinkLayer::kRoceV1;
  send(bench, std::move(packet));
  CHECK(bench.ends[1].received_packets == 1);
  CHECK(bench.metric("port0.rx_not_routable") == 0);
}

TEST_CASE("IPv6 passes a router with global addresses and is refused with link-local ones") {
  SwitchBench bench(SwitchConfig{});
  for (const GidKind kind : {GidKind::kLinkLocal, GidKind::kUniqueLocal, GidKind::kIpv4Mapped}) {
    PacketRef packet = bench.ends[0].make({2, 1});
    packet->ip_version = IpVersion::kIpv6;
    packet->gid_kind = kind;
    packet->payload_elided = false;
    seal_icrc(*packet);
    send(bench, std::move(packet));
    if (kind != GidKind::kLinkLocal) CHECK(icrc_ok(*bench.ends[1].last));
  }
  CHECK(bench.ends[1].received_packets == 2);
  CHECK(bench.metric("port0.rx_not_routable") == 1);
}

TEST_CASE("a packet to nobody is dropped and counted") {
  SwitchBench bench(SwitchConfig{});
  Topology topology(SwitchBench::end_names(3));  // the third is plugged in nowhere
  const std::uint32_t node = topology.add_switch("s", 1);
  for (std::uint32_t i = 0; i < 2; ++i) topology.connect(i, node, LinkClass::kHost);
  bench.route(topology);
  for (const std::uint32_t number : {0U, 3U, 4U, 0xffffffU})
    send(bench, bench.ends[0].make({number, 1}));
  CHECK(bench.metric("port0.rx_no_route") == 4);
  CHECK(bench.the_switch.port_totals(0).dropped_packets == 4);
  CHECK(bench.the_switch.port_totals(0).dropped_bytes == Bytes(4 * 4158));
}

TEST_CASE("a switch has ports where nothing is plugged in") {
  Scheduler scheduler{"scheduler"};
  PacketPool pool;
  Switch the_switch("switch", {scheduler, pool, 1, 1}, SwitchConfig{}, {{}, {}});
  CHECK(the_switch.ports() == 2);
  CHECK(the_switch.idle());
  CHECK(the_switch.port_totals(1).sent_packets == 0);
}

TEST_CASE("a damaged frame ends at a switch that stores it") {
  SwitchBench bench(SwitchConfig{});
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->bad_fcs = true;
  send(bench, std::move(packet));
  CHECK(bench.ends[1].received_packets == 0);
  CHECK(bench.metric("port0.rx_crc_errors") == 1);
}

TEST_CASE("a damaged frame passes a switch that cuts through") {
  SwitchConfig config;
  config.cut_through = true;
  SwitchBench bench(config);
  PacketRef packet = bench.ends[0].make({2, 1});
  packet->bad_fcs = true;
  send(bench, std::move(packet));
  REQUIRE(bench.ends[1].received_packets == 1);
  CHECK(bench.ends[1].last->bad_fcs);
}

TEST_CASE("ECMP spreads flows by their source port, and a flow keeps its way and its order") {
  SwitchBench bench(with(PathChoice::kEcmp), std::vector<Cable>(5));
  bench.route_all_ways_to_2();
  for (std::uint16_t flow = 0; flow < 400; ++flow)
    bench.ends[0].start({2, 5, 256, 3, static_cast<std::uint16_t>(0xc000 + flow)});
  bench.scheduler.run_until(10_ms);
  bench.check_conservation();
  std::map<std::uint16_t, std::uint16_t> way_of;
  for (std::uint16_t end = 1; end < 5; ++end) {
    std::map<std::uint16_t, std::uint32_t> next;
    for (const auto& arrival : bench.ends[end].arrivals) {
      CHECK(way_of.emplace(arrival.source_port, end).first->second == end);
      CHECK(arrival.psn == next[arrival.source_port]++);
    }
    // 100 flows of 400 are expected, with a deviation of 8.7.
    CHECK(next.size() > 100 - 35);
    CHECK(next.size() < 100 + 35);
  }
  CHECK(way_of.size() == 400);
}

TEST_CASE("spraying spreads the packets of one flow evenly") {
  SwitchBench bench(with(PathChoice::kSpray), std::vector<Cable>(5));
  bench.route_all_ways_to_2();
  bench.ends[0].start({2, 4000, 256});
  bench.scheduler.run_until(10_ms);
  bench.check_conservation();
  for (std::size_t end = 1; end < 5; ++end) {  // 1000 with a deviation of 27
    CHECK(bench.ends[end].received_packets > 1000 - 110);
    CHECK(bench.ends[end].received_packets < 1000 + 110);
  }
}

TEST_CASE("adaptive choice goes where less waits, and by the flow where it is the same") {
  SwitchBench bench(with(PathChoice::kAdaptive));
  bench.route_all_ways_to_2();
  bench.ends[1].requester().xoff(3);  // what goes to port 1 stays there
  bench.scheduler.run_until(10_us);
  for (std::uint16_t flow = 0; flow < 8; ++flow) {
    for (int i = 0; i < 5; ++i) {
      bench.ends[0].send(
          bench.ends[0].make({2, 1, 4096, 3, static_cast<std::uint16_t>(0xc000 + flow)}));
      bench.scheduler.run_until(bench.scheduler.now() + 10_us);
    }
  }
  CHECK(bench.the_switch.buffer().egress_bytes(1) == Bytes(20 * 208));  // one packet
  CHECK(bench.ends[1].received_packets == 0);
  CHECK(bench.ends[2].received_packets == 39);
  bench.check_conservation();
}

TEST_CASE("a switch that takes the priority from the tag pauses by it") {
  SwitchConfig config;
  config.priorities.from = PriorityFrom::kPcp;
  SwitchBench bench(config);
  PacketRef packet = bench.ends[0].make({2, 1, 1024, 0});
  packet->tagged = true;
  packet->vlan.priority = 5;
  send(bench, std::move(packet));
  CHECK(bench.metric("port0.prio5.occupancy.max") == 6 * 208);  // 1090 B
}

TEST_CASE("lossy packets that find no room are dropped, counted and nothing else") {
  SwitchConfig config;
  config.buffer.size = 512_KiB;
  SwitchBench bench(config);
  bench.ends[0].start({3, 500, 4096, 0});
  bench.ends[1].start({3, 500, 4096, 0});
  CHECK(bench.scheduler.run_until(10_ms) == Scheduler::End::kIdle);
  bench.check_conservation();
  const std::uint64_t dropped =
      bench.metric("port0.rx_discards") + bench.metric("port1.rx_discards");
  CHECK(dropped > 200);
  CHECK(bench.ends[2].received_packets == 1000 - dropped);
  CHECK(bench.ends[0].pauses_received == 0);
}

TEST_CASE("a queue that is long is marked, and only capable packets are") {
  SwitchConfig config;
  EcnConfig ecn;
  ecn.priority = 3;
  ecn.kmin = ecn.kmax = Bytes(3 * 20 * 208);  // three packets of 4158 B
  config.egress.ecn = {ecn};
  SwitchBench bench(config);
  bench.ends[2].requester().xoff(3);
  bench.scheduler.run_until(10_us);
  for (int i = 0; i < 6; ++i) {
    PacketRef packet = bench.ends[0].make({3, 1});
    packet->ipv4.ecn = i == 0 ? Ecn::kNotCapable : Ecn::kCapable0;
    bench.ends[0].send(std::move(packet));
    bench.scheduler.run_until(bench.scheduler.now() + 1_us);
  }
  bench.ends[2].requester().xon(3);
  bench.scheduler.run_until(1_ms);
  bench.check_conservation();
  CHECK(bench.ends[2].received_packets == 6);
  CHECK(bench.metric("port2.ecn_marked") == 2);  // with five and four waiting
}
