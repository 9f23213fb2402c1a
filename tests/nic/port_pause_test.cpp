// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/icrc.h"
#include "model/invariant.h"
#include "nic/mac_rx.h"
#include "nic/mac_tx.h"
#include "nic/pause_storm.h"
#include "nic/pause_watchdog.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using test::MetricRecorder;
using namespace rnicsim::literals;

namespace {

constexpr std::uint8_t kLossless = 26;  ///< DSCP of priority 3
constexpr std::uint8_t kLossy = 8;      ///< of priority 1
constexpr Bytes kFrame{1024 + 78};

struct Wire : PacketSink {
  explicit Wire(Scheduler& s) : scheduler(s) {}
  void receive(PacketRef packet) override {
    starts.push_back(scheduler.now());
    packets.push_back(std::move(packet));
  }
  Scheduler& scheduler;
  std::vector<Time> starts;
  std::vector<PacketRef> packets;
};

struct Parsed : ParsedPacketSink {
  void receive(PacketRef packet, Time) override { packets.push_back(std::move(packet)); }
  std::vector<PacketRef> packets;
};

/// Both sides of a port of 100 Gb/s; a pause takes effect 100 ns after its last bit.
struct PortBench {
  explicit PortBench(const PortConfig& port = config(), Bytes buffer = kFrame * 8,
                     std::optional<Bytes> lossy = {})
      : tx({scheduler, pool, BitRate::gbps(100), {2, 0, 0, 0, 0, 1}}, {}, port),
        rx({scheduler, clock, tx, {BitRate::gbps(100), 0_ns, 0_ns, kFrame}, "nic.mac_rx"},
           {buffer, {Cycles(8), Cycles(2)}, false, lossy}, port) {
    tx.connect(wire, {}, {});
    rx.connect(requests, responses, notifications);
  }
  static PortConfig config() {
    PortConfig port;
    port.pause.response_time = 100_ns;
    port.headroom = kFrame * 4;
    return port;
  }
  PacketRef packet(std::uint8_t dscp, Opcode opcode = Opcode::kWriteOnly) {
    PacketRef packet = pool.create();
    packet->ipv4.dscp = dscp;
    packet->bth.opcode = opcode;
    packet->set_payload_length(Bytes(1024));
    std::fill_n(packet->payload(), 1024, std::uint8_t{1});
    seal_icrc(*packet);
    return packet;
  }
  PacketRef pause(std::uint8_t classes, std::uint16_t quanta) {
    PacketRef packet = pool.create();
    packet->kind = FrameKind::kPause;
    PauseFrame frame;
    frame.classes = classes;
    frame.quanta.fill(quanta);
    packet->pause = frame;
    return packet;
  }
  void arrive_at(Time time, PacketRef packet) {
    arriving.push_back(std::move(packet));
    scheduler.at_arrival(time, 1, call<&PortBench::arrive>(this, arriving.size() - 1));
  }
  void arrive(std::uint64_t index) { rx.receive(arriving[index]); }
  /// A pause's end is a daemon: something else has to keep the run alive until then.
  void stay_alive_until(Time time) { scheduler.at(time, call<&PortBench::nothing>(this)); }
  void nothing() {}
  void send_at(Time time, std::uint8_t dscp, MacTx::Queue queue = MacTx::Queue::kRequest) {
    tx.enqueue(packet(dscp), time, queue);
  }

  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  Clock clock{Frequency::mhz(400)};
  Wire wire{scheduler};
  MacTx tx;
  MacRx rx;
  Parsed requests;
  Parsed notifications;
  Parsed responses;
  std::vector<PacketRef> arriving;
};

}  // namespace

TEST_CASE(
    "a receive buffer that is full but for its headroom stops the sender, and room lets it go") {
  PortBench bench;  // 8 frames, 4 of them headroom
  for (int i = 0; i < 4; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossless));
  bench.scheduler.run_until(39_ns);
  CHECK(bench.wire.packets.empty());
  bench.scheduler.run_until(40_ns);  // the fourth reaches the threshold
  REQUIRE(bench.wire.packets.size() == 1);
  const Packet& xoff = *bench.wire.packets[0];
  CHECK(xoff.kind == FrameKind::kPause);
  CHECK(xoff.pause.classes == 1U << 3);
  CHECK(xoff.pause.quanta[3] == 0xffff);
  CHECK(bench.wire.starts[0] == 40_ns);
  bench.rx.release(*bench.requests.packets[0]);  // a frame below the threshold
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.packets[1]->pause.quanta[3] == 0);
  MetricRecorder metrics;
  bench.tx.report(MetricScope(metrics, "port"));
  CHECK(metrics.values.at("port.tx_prio3_pause") == 2);
}

TEST_CASE("what comes after the pause is taken from the headroom, and nothing is lost") {
  PortBench bench;
  for (int i = 0; i < 8; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossless));
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.packets.size() == 8);
  CHECK(bench.rx.occupied() == kFrame * 8);
}

TEST_CASE("a lossless packet beyond the headroom ends the run and says what was needed") {
  PortBench bench;
  for (int i = 0; i < 9; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossless));
  try {
    bench.scheduler.run_until(1_us);
    FAIL("nothing was dropped");
  } catch (const InvariantBroken& broken) {
    CHECK(broken.kind() == "lossless_drop");
    CHECK(broken.when() == 90_ns);
    CHECK(std::string(broken.what()).find("headroom is 4408 B, 5510 B are needed by now") !=
          std::string::npos);
  }
}

TEST_CASE("a packet of a lossy priority is dropped where headroom begins, and nobody is paused") {
  PortBench bench(PortBench::config(), kFrame * 8, kFrame * 4);
  for (int i = 0; i < 6; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossy));
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.packets.size() == 4);
  CHECK(bench.wire.packets.empty());
  MetricRecorder metrics;
  bench.rx.report(MetricScope(metrics, "port"));
  CHECK(metrics.values.at("port.rx_discards_phy") == 2);
}

TEST_CASE("lossy priorities take no more than their share, and never keep another paused") {
  PortBench bench;  // 2 frames for lossy ones, unless told otherwise
  for (int i = 0; i < 4; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossy));
  for (int i = 4; i < 6; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossless));
  bench.scheduler.run_until(100_ns);
  REQUIRE(bench.requests.packets.size() == 4);
  CHECK(test::metrics_of(bench.rx).at("rx_discards_phy") == 2);
  CHECK(bench.tx.pause_requester().is_xoff(3));
  bench.rx.release(*bench.requests.packets[2]);
  CHECK_FALSE(bench.tx.pause_requester().is_xoff(3));
  bench.rx.release(*bench.requests.packets[3]);
  CHECK(bench.rx.occupied() == kFrame * 2);
}

TEST_CASE("a lossless priority goes on at the latest when it holds nothing") {
  PortBench bench(PortBench::config(), kFrame * 8, kFrame * 4);
  for (int i = 0; i < 4; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossy));
  for (int i = 4; i < 6; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossless));
  bench.scheduler.run_until(100_ns);
  REQUIRE(bench.requests.packets.size() == 6);
  bench.rx.release(*bench.requests.packets[4]);
  CHECK(bench.tx.pause_requester().is_xoff(3));
  bench.rx.release(*bench.requests.packets[5]);
  CHECK_FALSE(bench.tx.pause_requester().is_xoff(3));
  CHECK(bench.rx.occupied() == kFrame * 4);
}

TEST_CASE("lossy priorities cannot be promised more than headroom leaves") {
  try {
    PortBench(PortBench::config(), kFrame * 8, kFrame * 5);
    FAIL("it was promised");
  } catch (const ConfigError& error) {
    CHECK(error.detail().path == "mac_rx.lossy_buffer");
  }
}

TEST_CASE("without pausing every priority is lossy") {
  PortConfig port = PortBench::config();
  port.pause.mode = PauseMode::kNone;
  PortBench bench(port);
  for (int i = 0; i < 10; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossless));
  bench.scheduler.run_until(1_us);
  CHECK(bench.requests.packets.size() == 8);
  CHECK(bench.wire.packets.empty());
}

TEST_CASE("a paused priority waits, responses as well as requests, and others do not") {
  PortBench bench;
  bench.arrive_at(0_ns, bench.pause(1U << 3, 100));  // 512 ns from 100 ns on
  bench.send_at(150_ns, kLossless);
  bench.send_at(150_ns, kLossless, MacTx::Queue::kResponse);
  bench.send_at(200_ns, kLossy);
  bench.stay_alive_until(2_us);
  bench.scheduler.run_until(611_ns);
  REQUIRE(bench.wire.packets.size() == 1);
  CHECK(bench.wire.packets[0]->ipv4.dscp == kLossy);
  CHECK(bench.wire.starts[0] == 200_ns);
  bench.scheduler.run_until(2_us);
  REQUIRE(bench.wire.packets.size() == 3);
  CHECK(bench.wire.starts[1] == 612_ns);
  CHECK(bench.tx.idle());
}

TEST_CASE("a packet that has begun when the pause takes effect is sent whole") {
  PortBench bench;
  bench.send_at(99_ns, kLossless);
  bench.send_at(99_ns, kLossless);
  bench.arrive_at(0_ns, bench.pause(1U << 3, 100));
  bench.stay_alive_until(2_us);
  bench.scheduler.run_until(2_us);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.starts[0] == 99_ns);
  CHECK(bench.wire.starts[1] == 612_ns);
}

TEST_CASE("the highest priority goes first, and a pause frame of our own before all") {
  PortBench bench;
  for (int i = 0; i < 4; ++i) bench.arrive_at(10_ns * (i + 1), bench.packet(kLossless));
  bench.send_at(35_ns, kLossy);  // takes the wire until after the buffer is full
  bench.send_at(36_ns, kLossy);
  bench.send_at(37_ns, kLossless);
  bench.scheduler.run_until(2_us);
  REQUIRE(bench.wire.packets.size() == 4);
  CHECK(bench.wire.packets[0]->ipv4.dscp == kLossy);
  CHECK(bench.wire.packets[1]->kind == FrameKind::kPause);
  CHECK(bench.wire.packets[2]->ipv4.dscp == kLossless);
  CHECK(bench.wire.packets[3]->ipv4.dscp == kLossy);
}

TEST_CASE("a pause storm stops its priority from its time on, and repeats itself, to its end") {
  PortBench bench;
  const PauseStorms storms(bench.scheduler, {{3, 10_us, 200_us}}, bench.tx.pause_requester());
  bench.stay_alive_until(300_us);
  bench.scheduler.run_until(300_us);
  REQUIRE(bench.wire.packets.size() == 3);  // half of 335.5 us later once more
  CHECK(bench.wire.starts[0] == 10_us);
  CHECK(bench.wire.starts[1] == 10_us + Time::ps(std::int64_t{0xffff} * 5120 / 2));
  CHECK(bench.wire.starts[2] == 200_us);
  CHECK(bench.wire.packets[1]->pause.quanta[3] == 0xffff);
  CHECK(bench.wire.packets[2]->pause.quanta[3] == 0);
}

TEST_CASE("the watchdog ends a storm, and the priority is lossy from then on") {
  PauseWatchdogConfig config;
  config.interval = 5_us;
  config.action = PauseWatchdogConfig::Action::kStopPausing;
  PortBench bench;
  const PauseWatchdog watchdog(bench.scheduler, config, bench.tx.pause_requester(), bench.rx);
  const PauseStorms storms(bench.scheduler, {{3, 10_us, std::nullopt}}, bench.tx.pause_requester());
  bench.stay_alive_until(20_us);
  bench.scheduler.run_until(20_us);
  REQUIRE(bench.wire.packets.size() == 2);
  CHECK(bench.wire.starts[1] == 15_us);
  CHECK(bench.wire.packets[1]->pause.quanta[3] == 0);
  CHECK(watchdog.stopped(3).since == 10_us);
  CHECK(watchdog.stopped(3).lasted == 5_us);
  for (int i = 0; i < 9; ++i) bench.arrive_at(21_us + 10_ns * i, bench.packet(kLossless));
  bench.scheduler.run_until(30_us);
  CHECK(bench.requests.packets.size() == 4);
  CHECK(bench.wire.packets.size() == 2);
}

TEST_CASE("pauses that end in time are none of the watchdog's business") {
  PauseWatchdogConfig config;
  config.interval = 5_us;
  config.action = PauseWatchdogConfig::Action::kStopPausing;
  PortBench bench;
  const PauseWatchdog watchdog(bench.scheduler, config, bench.tx.pause_requester(), bench.rx);
  const PauseStorms storms(bench.scheduler, {{3, 10_us, 14_us}, {3, 15_us, 19_us}},
                           bench.tx.pause_requester());
  bench.stay_alive_until(40_us);
  bench.scheduler.run_until(40_us);
  CHECK(bench.wire.packets.size() == 4);
  CHECK(watchdog.stopped(3).lasted == Time());
}

TEST_CASE("a flooded frame for somebody else ends at the port") {
  PortBench bench;
  for (const std::uint8_t last : {1, 2}) {
    PacketRef packet = bench.packet(kLossless);
    packet->eth.destination = {2, 0, 0, 0, 0, last};
    packet->ingress = Packet::kFlooded;
    bench.arrive_at(10_ns * last, std::move(packet));
  }
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.requests.packets.size() == 1);
  CHECK(bench.requests.packets[0]->eth.destination[5] == 1);
  MetricRecorder metrics;
  bench.rx.report(MetricScope(metrics, "port"));
  CHECK(metrics.values.at("port.rx_wrong_address") == 1);
}

TEST_CASE(
    "packets that wait for the end of a pause keep a NIC's run alive, though its frame is lost") {
  PortBench bench;
  bench.arrive_at(0_ns, bench.pause(1U << 3, 0xffff));
  bench.send_at(1_us, kLossless);
  bench.scheduler.run_until(1_ms);
  REQUIRE(bench.wire.packets.size() == 1);
  CHECK(bench.wire.starts[0] == 100_ns + Time::ps(std::int64_t{0xffff} * 5120));
}
