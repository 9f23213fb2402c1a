// SPDX-License-Identifier: MIT
// A packet's way through a switch of InfiniBand, and where it waits for credit: exact times.
#include <catch2/catch.hpp>
#include <deque>
#include <optional>
#include <vector>

#include "fabric/link.h"
#include "fabric/routes.h"
#include "fabric/switch.h"
#include "fabric/topology.h"
#include "model/credit.h"
#include "model/icrc.h"
#include "model/scheduler.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr BitRate kRate = BitRate::gbps(100);  // 80 ps a byte
constexpr Time kCable = Time::ns(15);
constexpr Time kPacketTime = Time::ps(1050 * 80);
constexpr Time kCreditTime = Time::ps(6 * 80);
constexpr Time kLatency = Time::ns(250);
constexpr Bytes kPacket{1050};  ///< 17 blocks

/// An end of a cable that sends what it is given, as credit allows, and keeps what comes.
class End : public PacketSink {
 public:
  End(Scheduler& scheduler, PacketPool& pool, Lid lid, const CreditConfig& config)
      : credit({scheduler, kRate, Bytes(1 << 20), "memory", kPacket, "end", call<&End::go>(this)},
               config),
        scheduler_(scheduler),
        pool_(pool),
        lid_(lid) {}
  void connect(PacketSink& link) { link_ = &link; }
  /// `count` packets of 1050 B, from a time on.
  void send_at(Time time, Lid to, int count, std::uint8_t service_level = 2) {
    to_ = to;
    service_level_ = service_level;
    scheduler_.at(time, call<&End::start>(this, static_cast<std::uint64_t>(count)));
  }
  void give_back_at(Time time) { scheduler_.at(time, call<&End::give_back>(this)); }

  void receive(PacketRef packet) override {
    if (packet->kind == FrameKind::kCredit) {
      ++flow_control_received;
      return credit.receive(packet->credit);
    }
    REQUIRE(packet->kind == FrameKind::kData);
    credit.take(packet->lrh.virtual_lane, packet->frame_bytes());
    received_bytes += packet->frame_bytes();
    tails.push_back(packet->tail);
    packets.push_back(std::move(packet));
    if (gives_back_at_once) give_back();
  }

  CreditLink credit;
  bool gives_back_at_once = false;
  std::uint64_t flow_control_received = 0;
  Bytes sent_bytes;
  Bytes received_bytes;
  std::vector<Time> starts;
  std::vector<Time> tails;
  std::vector<PacketRef> packets;

 private:
  void start(std::uint64_t count) {
    left_ += static_cast<int>(count);
    go();
  }
  void give_back() {
    credit.give_back(packets[given_back_]->lrh.virtual_lane, kPacket);
    ++given_back_;
  }
  void go() {
    if (sending_) return;
    if (credit.packet_is_due()) {
      PacketRef packet = pool_.create();
      packet->kind = FrameKind::kCredit;
      packet->link_layer = LinkLayer::kInfiniBand;
      packet->credit = credit.take_packet();
      return put_on_wire(std::move(packet), kCreditTime);
    }
    const auto lane = service_level_;
    if (left_ == 0 || contains(credit.stalled(), lane)) return;
    if (!credit.offer(lane, kPacket, scheduler_.now())) return;
    credit.sent(lane, kPacket);
    --left_;
    starts.push_back(scheduler_.now());
    put_on_wire(make(lane), kPacketTime);
  }
  PacketRef make(std::uint8_t lane) const {
    PacketRef packet = pool_.create();
    packet->link_layer = LinkLayer::kInfiniBand;
    packet->lrh = Lrh{};
    packet->lrh.virtual_lane = lane;
    packet->lrh.service_level = service_level_;
    packet->lrh.destination = to_;
    packet->lrh.source = lid_;
    packet->bth.opcode = Opcode::kWriteMiddle;
    packet->set_payload_length(Bytes(1024));
    packet->payload_elided = true;
    REQUIRE(packet->frame_bytes() == kPacket);
    REQUIRE(packet->wire_bytes() == kPacket);
    return packet;
  }
  void put_on_wire(PacketRef packet, Time time) {
    packet->head = scheduler_.now();
    packet->tail = scheduler_.now() + time;
    sent_bytes += packet->frame_bytes();
    sending_ = true;
    scheduler_.at(packet->tail, call<&End::sent>(this));
    link_->receive(std::move(packet));
  }
  void sent() {
    sending_ = false;
    go();
  }

  Scheduler& scheduler_;
  PacketPool& pool_;
  Lid lid_;
  PacketSink* link_ = nullptr;
  Lid to_ = 0;
  std::uint8_t service_level_ = 0;
  int left_ = 0;
  bool sending_ = false;
  std::size_t given_back_ = 0;
};

/// A switch with an end at each port, LIDs 1, 2, ...
struct Bench {
  explicit Bench(const CreditConfig& credit = {}, std::size_t count = 3,
                 const SwitchConfig& config = {})
      : the_switch("switch", {scheduler, pool, 0, 1, LinkLayer::kInfiniBand, credit}, config,
                   std::vector<SwitchPortSetup>(count, {kRate, kCable, kPacket, Time()})) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("e" + std::to_string(i));
    Topology topology(names);
    const std::uint32_t node = topology.add_switch("s", 1);
    for (std::uint32_t i = 0; i < count; ++i) topology.connect(i, node, LinkClass::kHost);
    routes.emplace(topology);
    the_switch.set_routes(*routes, node, static_cast<std::uint32_t>(count));
    for (std::uint16_t i = 0; i < the_switch.ports(); ++i) {
      up.emplace_back(scheduler, LinkConfig{}, 2U * i);
      down.emplace_back(scheduler, LinkConfig{}, 2U * i + 1);
      ends.emplace_back(scheduler, pool, static_cast<Lid>(i + 1), credit);
      ends[i].connect(up[i]);
      up[i].connect(the_switch.port(i));
      the_switch.connect(i, down[i]);
      down[i].connect(ends[i]);
    }
  }
  void run() { CHECK(scheduler.run_until(1_ms) == Scheduler::End::kIdle); }
  std::uint64_t metric(const std::string& name) {
    test::MetricRecorder recorder;
    the_switch.report(MetricScope(recorder, "s"));
    return recorder.values.at("s." + name);
  }
  void check_conservation() {
    for (std::uint16_t i = 0; i < the_switch.ports(); ++i) {
      CAPTURE(i);
      CHECK(the_switch.port_totals(i).received_bytes == ends[i].sent_bytes);
      CHECK(the_switch.port_totals(i).sent_bytes ==
            ends[i].received_bytes + Bytes(6) * ends[i].flow_control_received);
    }
  }

  Scheduler scheduler{"scheduler"};
  PacketPool pool;
  Switch the_switch;
  std::optional<Routes> routes;
  std::deque<LinkDirection> up;
  std::deque<LinkDirection> down;
  std::deque<End> ends;
};

/// Two packets of 17 blocks, and every block that is free is told.
CreditConfig two_packets() {
  CreditConfig config;
  config.lane_buffer = Bytes(34 * 64);
  config.update = Bytes(64);
  return config;
}

}  // namespace

TEST_CASE("a packet leaves by the port of its LID, its lane that of its service level") {
  Bench bench;
  bench.ends[0].send_at(1_us, 2, 1, 5);
  bench.run();
  REQUIRE(bench.ends[1].packets.size() == 1);
  const Packet& packet = *bench.ends[1].packets[0];
  // The last bit comes at 1,099 ns, on an edge of the switch's clock.
  CHECK(packet.head == 1_us + kPacketTime + kCable + kLatency + kCable);
  CHECK(packet.tail == packet.head + kPacketTime);
  CHECK(packet.lrh.virtual_lane == 5);
  CHECK(packet.lrh.source == 1);
  CHECK(icrc_ok(packet));
  CHECK(bench.ends[2].packets.empty());
  bench.check_conservation();
}

TEST_CASE("with fewer lanes than service levels several levels share a lane") {
  CreditConfig config;
  config.data_lanes = 2;
  Bench bench(config);
  bench.ends[0].send_at(1_us, 3, 1, 1);
  bench.ends[1].send_at(2_us, 3, 1, 0);
  bench.run();
  REQUIRE(bench.ends[2].packets.size() == 2);
  CHECK(bench.ends[2].packets[0]->lrh.virtual_lane == 1);
  CHECK(bench.ends[2].packets[1]->lrh.virtual_lane == 0);
}

TEST_CASE("a packet for a LID that nobody has is dropped, and its credit comes back") {
  Bench bench(two_packets());
  bench.ends[0].send_at(1_us, 4, 5);
  bench.run();
  CHECK(bench.ends[0].starts.size() == 5);
  CHECK(bench.metric("port0.rx_no_route") == 5);
  CHECK(bench.the_switch.idle());
}

TEST_CASE("a full receiver stops the switch, and that its sender: each goes on as credit comes") {
  Bench bench(two_packets());
  bench.ends[0].send_at(1_us, 2, 6);
  bench.ends[1].give_back_at(5_us);
  bench.scheduler.run_until(5_us);
  // Two are at the receiver, two in the switch.
  CHECK(bench.ends[1].packets.size() == 2);
  REQUIRE(bench.ends[0].starts.size() == 4);
  CHECK(bench.ends[0].credit.stalled() == 1U << 2);
  CHECK(bench.the_switch.egress(1).held_up() == 1U << 2);
  bench.scheduler.run_until(6_us);
  REQUIRE(bench.ends[1].packets.size() == 3);
  const Time heard = 5_us + kCreditTime + kCable;
  CHECK(bench.ends[1].tails[2] == heard + kPacketTime + kCable);
  REQUIRE(bench.ends[0].starts.size() == 5);
  CHECK(bench.ends[0].starts[4] == heard + kPacketTime + kCreditTime + kCable);
  CHECK(bench.metric("port1.vl2.tx_stalls") == 2);
  bench.check_conservation();
}

TEST_CASE("without credit to come everything stands still, and the run ends") {
  Bench bench(two_packets());
  bench.ends[0].send_at(1_us, 2, 6);
  bench.run();
  CHECK(bench.ends[1].packets.size() == 2);
  CHECK_FALSE(bench.the_switch.idle());
  CHECK(bench.metric("port1.vl2.tx_stalls") == 1);
}

TEST_CASE("a lane that is stalled does not hold up another of the same port") {
  Bench bench(two_packets());
  bench.ends[0].send_at(1_us, 2, 6, 2);
  bench.ends[2].send_at(4_us, 2, 2, 4);
  bench.run();
  REQUIRE(bench.ends[1].packets.size() == 4);
  CHECK(bench.ends[1].packets[3]->lrh.virtual_lane == 4);
  CHECK(bench.ends[1].tails[3] == 4_us + kPacketTime * 3 + kCable * 2 + kLatency);
}

TEST_CASE("two senders to one receiver share its link, and nothing is lost or paused") {
  Bench bench(two_packets());
  bench.ends[2].gives_back_at_once = true;
  bench.ends[0].send_at(1_us, 3, 100);
  bench.ends[1].send_at(1_us, 3, 100);
  bench.run();
  CHECK(bench.ends[2].packets.size() == 200);
  std::size_t of_first = 0;
  for (std::size_t i = 0; i < 100; ++i)
    if (bench.ends[2].packets[i]->lrh.source == 1) ++of_first;
  CHECK(of_first >= 45);
  CHECK(of_first <= 55);
  CHECK(bench.metric("port0.vl2.receive_buffer.occupancy.max") == 34 * 64);
  CHECK(bench.the_switch.idle());
  bench.check_conservation();
}

TEST_CASE("a packet whose VCRC is wrong is dropped by a switch that has it whole") {
  Bench bench;
  PacketRef packet = bench.pool.create();
  packet->link_layer = LinkLayer::kInfiniBand;
  packet->lrh = Lrh{};
  packet->lrh.destination = 2;
  packet->payload_elided = true;
  packet->bad_fcs = true;
  bench.the_switch.port(0).receive(std::move(packet));
  bench.run();
  CHECK(bench.metric("port0.rx_crc_errors") == 1);
  CHECK(bench.ends[1].packets.empty());
}
