// SPDX-License-Identifier: MIT
// A NIC's port on an InfiniBand link: what waits for credit, and how the receive buffer gives it.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/icrc.h"
#include "model/invariant.h"
#include "nic/mac_rx.h"
#include "nic/mac_tx.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr BitRate kRate = BitRate::gbps(100);  // 80 ps a byte
constexpr Bytes kPacket{1066};                 ///< 17 blocks
constexpr Time kPacketTime = Time::ps(1066 * 80);
constexpr Time kAnswerTime = Time::ps(30 * 80);  ///< of a block

struct Wire : PacketSink {
  explicit Wire(Scheduler& s) : scheduler(s) {}
  void receive(PacketRef packet) override {
    if (packet->kind == FrameKind::kCredit) {
      credits.push_back(packet->credit);
      credit_times.push_back(scheduler.now());
      return;
    }
    REQUIRE(packet->head == scheduler.now());
    starts.push_back(scheduler.now());
    packets.push_back(std::move(packet));
  }
  Scheduler& scheduler;
  std::vector<CreditPacket> credits;
  std::vector<Time> credit_times;
  std::vector<Time> starts;
  std::vector<PacketRef> packets;
};

struct Parsed : ParsedPacketSink {
  void receive(PacketRef packet, Time) override { packets.push_back(std::move(packet)); }
  std::vector<PacketRef> packets;
};

/// Two lanes, each with room for four packets; every block given back is told.
struct Bench {
  Bench()
      : tx({scheduler,
            pool,
            kRate,
            {},
            LinkLayer::kInfiniBand,
            config(),
            Bytes(1 << 20),
            kPacket,
            "nic.port"},
           {}, {}),
        rx({scheduler, clock, tx, {}, "nic.mac_rx"}, {}, {}) {
    tx.connect(wire, {}, {});
    rx.connect(requests, responses, notifications);
  }
  static CreditConfig config() {
    CreditConfig config;
    config.data_lanes = 2;
    config.lane_buffer = Bytes(4 * 17 * 64);
    config.update = Bytes(64);
    return config;
  }
  PacketRef packet(std::uint8_t service_level, Opcode opcode = Opcode::kWriteOnly) {
    PacketRef packet = pool.create();
    packet->link_layer = LinkLayer::kInfiniBand;
    packet->lrh = Lrh{};
    packet->lrh.virtual_lane = service_level % 2;
    packet->lrh.service_level = service_level;
    packet->bth.opcode = opcode;
    packet->set_payload_length(Bytes(opcode == Opcode::kAcknowledge ? 0 : 1024));
    packet->payload_elided = true;
    seal_icrc(*packet);
    return packet;
  }
  void hear_at(Time time, std::uint8_t lane, std::uint16_t limit) {
    PacketRef packet = pool.create();
    packet->kind = FrameKind::kCredit;
    packet->link_layer = LinkLayer::kInfiniBand;
    packet->credit = {CreditPacket::kNormal, lane, 0, limit};
    arrive_at(time, std::move(packet));
  }
  void arrive_at(Time time, PacketRef packet) {
    arriving.push_back(std::move(packet));
    scheduler.at_arrival(time, 1, call<&Bench::arrive>(this, arriving.size() - 1));
  }
  void arrive(std::uint64_t index) { rx.receive(std::move(arriving[index])); }
  void release_at(Time time) { scheduler.at(time, call<&Bench::release>(this)); }
  void release() { rx.release(*requests.packets[released++]); }

  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  Clock clock{Frequency::mhz(400)};
  Wire wire{scheduler};
  MacTx tx;
  MacRx rx;
  Parsed requests;
  Parsed responses;
  Parsed notifications;
  std::vector<PacketRef> arriving;
  std::size_t released = 0;
};

}  // namespace

TEST_CASE("a port tells the room of its lanes before anything else") {
  Bench bench;
  bench.hear_at(1_ns, 1, 17);
  bench.tx.enqueue(bench.packet(1), Time(), MacTx::Queue::kRequest);
  bench.scheduler.run_until(1_us);
  CHECK(bench.wire.starts == std::vector<Time>{1_ns});
  REQUIRE(bench.wire.credits.size() == 2);
  CHECK(bench.wire.credit_times[0] == Time());
  CHECK(bench.wire.credit_times[1] == Time::ps(6 * 80));
  CHECK(bench.wire.credits[0].lane == 0);
  CHECK(bench.wire.credits[0].limit == 68);
  CHECK(bench.wire.credits[1].lane == 1);
}

TEST_CASE("a packet leaves when there is credit for it, to the picosecond") {
  Bench bench;
  bench.tx.enqueue(bench.packet(1), 50_ns, MacTx::Queue::kRequest);
  bench.tx.enqueue(bench.packet(1), 50_ns, MacTx::Queue::kRequest);
  bench.hear_at(100_ns, 1, 33);
  bench.hear_at(300_ns, 1, 34);
  bench.scheduler.run_until(1_us);
  CHECK(bench.wire.starts == std::vector<Time>{100_ns, 300_ns});
  CHECK(bench.wire.packets[0]->tail == 100_ns + kPacketTime);
  CHECK(bench.wire.packets[0]->lrh.virtual_lane == 1);
  const auto metrics = test::metrics_of(bench.tx);
  const Time waited = 50_ns + (200_ns - kPacketTime);
  CHECK(metrics.at("tx.stalled.credit") == static_cast<std::uint64_t>(waited.ps()));
  CHECK(metrics.at("vl1.tx_stalls") == 2);
  CHECK(metrics.at("tx_wire_bytes") == metrics.at("tx_bytes"));
  CHECK(metrics.at("tx_flow_control_bytes") == 12);
  CHECK(metrics.at("tx_headers.local") == 2 * 10);
  CHECK(metrics.at("tx_padding_bytes") == 0);
}

TEST_CASE("a lane without credit does not hold up another") {
  Bench bench;
  bench.tx.enqueue(bench.packet(1), 50_ns, MacTx::Queue::kRequest);
  bench.tx.enqueue(bench.packet(2), 60_ns, MacTx::Queue::kRequest);
  bench.hear_at(10_ns, 0, 17);
  bench.hear_at(500_ns, 1, 17);
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.wire.starts == std::vector<Time>{60_ns, 500_ns});
  CHECK(bench.wire.packets[0]->lrh.service_level == 2);
  CHECK(bench.wire.packets[0]->lrh.virtual_lane == 0);
}

TEST_CASE("when credit comes a response goes before the request that waited for it") {
  Bench bench;
  bench.tx.enqueue(bench.packet(1), 50_ns, MacTx::Queue::kRequest);
  bench.tx.enqueue(bench.packet(1, Opcode::kAcknowledge), 60_ns, MacTx::Queue::kResponse);
  bench.hear_at(100_ns, 1, 18);
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.wire.starts == std::vector<Time>{100_ns, 100_ns + kAnswerTime});
  CHECK(bench.wire.packets[0]->bth.opcode == Opcode::kAcknowledge);
}

TEST_CASE("room in the receive buffer is told when a packet is through") {
  Bench bench;
  for (int i = 0; i < 4; ++i) bench.arrive_at(100_ns * (i + 1), bench.packet(3));
  bench.release_at(2_us);
  bench.scheduler.run_until(3_us);
  CHECK(bench.tx.credit()->occupied(1) == Bytes(3 * 17 * 64));
  REQUIRE(bench.wire.credits.size() == 3);
  CHECK(bench.wire.credit_times[2] == 2_us);
  CHECK(bench.wire.credits[2].lane == 1);
  CHECK(bench.wire.credits[2].limit == 5 * 17);
  CHECK(test::metrics_of(bench.rx).at("receive_buffer.occupancy.max") == 4 * 1066);
}

TEST_CASE("a packet that came without credit ends the run as a lossless drop") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.arrive_at(100_ns * (i + 1), bench.packet(3));
  try {
    bench.scheduler.run_until(3_us);
    FAIL("it was taken");
  } catch (const InvariantBroken& broken) {
    CHECK(broken.kind() == "lossless_drop");
    CHECK(broken.where() == "nic.port");
    CHECK(broken.when() == 500_ns);
  }
}

TEST_CASE("a packet whose ICRC is wrong gives its credit back; one whose VCRC is wrong cannot") {
  Bench bench;
  PacketRef damaged = bench.packet(1);
  damaged->icrc = 1;
  bench.arrive_at(100_ns, std::move(damaged));
  PacketRef lost = bench.packet(1);
  lost->bad_fcs = true;
  bench.arrive_at(200_ns, std::move(lost));
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.packets.empty());
  REQUIRE(bench.wire.credits.size() == 3);
  CHECK(bench.wire.credit_times[2] == 100_ns);
  CHECK(bench.wire.credits[2].limit == 5 * 17);
  const auto metrics = test::metrics_of(bench.rx);
  CHECK(metrics.at("rx_icrc_errors") == 1);
  CHECK(metrics.at("rx_crc_errors") == 1);
}
