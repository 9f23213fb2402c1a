// SPDX-License-Identifier: MIT
#include "fabric/egress.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "model/json_document.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/probe_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// At 100 Gb/s a byte takes 80 ps.
constexpr BitRate kRate = BitRate::gbps(100);
constexpr Time kPreamble = Time::ps(8 * 80);
constexpr Time kGap = Time::ps(12 * 80);
Time slot(std::uint64_t frame_bytes) {
  return Time::ps(static_cast<std::int64_t>((frame_bytes + 20) * 80));
}

struct Bench : Egress::Owner, PacketSink {
  struct Sent {
    Time given, head, tail;
    FrameKind kind;
    std::uint8_t priority;
    std::uint32_t psn;
    Ecn ecn;
    Bytes bytes;
  };
  struct Left {
    Time time;
    std::uint16_t ingress;
    std::uint8_t priority;
    Bytes bytes;
  };
  explicit Bench(const EgressConfig& config = {})
      : egress({scheduler, packets, *this, random, 5, kRate, {0x02, 1, 0, 0, 0, 9}}, config) {
    egress.connect(*this);
  }
  void left(std::uint16_t port, std::uint16_t ingress, std::uint8_t priority,
            Bytes frame) override {
    CHECK(port == 5);
    lefts.push_back({scheduler.now(), ingress, priority, frame});
  }
  Bytes waiting(std::uint16_t port, std::uint8_t priority) const override {
    CHECK(port == 5);
    return waits[priority];
  }
  void receive(PacketRef packet) override {
    if (packet->kind == FrameKind::kPause) pause = packet->pause;
    sent.push_back({scheduler.now(), packet->head, packet->tail, packet->kind, packet->priority,
                    packet->bth.psn.value(), packet->ipv4.ecn, packet->frame_bytes()});
  }
  /// A frame of `payload` + 62 B.
  void enqueue(std::uint8_t priority, Time ready = Time(), std::uint32_t payload = 1024,
               Ecn ecn = Ecn::kNotCapable) {
    PacketRef packet = packets.create();
    packet->bth.opcode = Opcode::kWriteMiddle;
    packet->bth.psn = Psn(made++);
    packet->set_payload_length(Bytes(payload));
    packet->priority = priority;
    packet->ingress = static_cast<std::uint16_t>(priority + 10);
    packet->ipv4.ecn = ecn;
    egress.enqueue(std::move(packet), std::max(ready, scheduler.now()));
  }
  void pauses(std::uint8_t classes, std::uint16_t quanta) {
    PauseFrame frame;
    frame.classes = classes;
    frame.quanta.fill(quanta);
    egress.listener().receive(frame);
  }
  std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> psns;
    for (const Sent& each : sent) psns.push_back(each.psn);
    return psns;
  }

  Scheduler scheduler{"scheduler"};
  PacketPool packets;
  Random random{1};
  std::array<Bytes, kPriorities> waits{};
  std::vector<Sent> sent;
  std::vector<Left> lefts;
  PauseFrame pause;
  std::uint32_t made = 0;
  Egress egress;
};

EgressConfig instant_pauses() {
  EgressConfig config;
  config.pause.response_time = Time();
  return config;
}

}  // namespace

TEST_CASE("an idle port sends a packet when it is ready, and its memory is free a slot later") {
  Bench bench;
  CHECK(bench.egress.idle());
  bench.enqueue(3, 250_ns);
  CHECK_FALSE(bench.egress.idle());
  bench.scheduler.run_until(1_ms);
  REQUIRE(bench.sent.size() == 1);
  CHECK(bench.sent[0].head == 250_ns + kPreamble);
  CHECK(bench.sent[0].tail == 250_ns + slot(1086) - kGap);
  REQUIRE(bench.lefts.size() == 1);
  CHECK(bench.lefts[0].time == 250_ns + slot(1086));
  CHECK(bench.lefts[0].ingress == 13);
  CHECK(bench.lefts[0].priority == 3);
  CHECK(bench.lefts[0].bytes == 1086_B);
  CHECK(bench.egress.idle());
  CHECK(bench.packets.outstanding() == 0);
}

TEST_CASE("packets of one priority follow each other without a gap, in their order") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.enqueue(3, 100_ns);
  bench.scheduler.run_until(1_ms);
  REQUIRE(bench.order() == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  for (int i = 0; i < 5; ++i)
    CHECK(bench.sent[static_cast<std::size_t>(i)].head == 100_ns + kPreamble + slot(1086) * i);
  CHECK(bench.egress.sent_packets() == 5);
  CHECK(bench.egress.sent_bytes() == 5430_B);
  CHECK(test::metrics_of(bench.egress).at("tx.busy") == 5ULL * 1106 * 80);
}

TEST_CASE("strict priorities go by number, the highest first") {
  Bench bench;
  for (const std::uint8_t priority : {2, 0, 5, 7, 3, 7}) bench.enqueue(priority);
  bench.scheduler.run_until(1_ms);
  // The first had the port to itself when it came.
  CHECK(bench.order() == std::vector<std::uint32_t>{0, 3, 5, 2, 4, 1});
}

TEST_CASE("no packet waits for one of a higher priority that is still in the pipeline") {
  Bench bench;
  bench.enqueue(0);
  bench.enqueue(0);
  bench.enqueue(7, slot(1086) + 1_ps);
  bench.enqueue(0);
  bench.scheduler.run_until(1_ms);
  CHECK(bench.order() == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(bench.sent[3].head == slot(1086) * 3 + kPreamble);  // no gap anywhere
}

TEST_CASE("of packets that are all in the pipeline the one that comes out first is sent first") {
  Bench bench;
  bench.enqueue(0);
  bench.enqueue(7, 2_us);
  bench.enqueue(1, 1_us);
  bench.enqueue(2, 1_us);
  bench.scheduler.run_until(1_ms);
  CHECK(bench.order() == std::vector<std::uint32_t>{0, 3, 2, 1});
  CHECK(bench.sent[1].head == 1_us + kPreamble);
  CHECK(bench.sent[3].head == 2_us + kPreamble);
}

namespace {

/// Three backlogs of different packets for a millisecond: each must have its share, but for the
/// round that the end cuts.
void check_shares(const std::array<std::uint32_t, 3>& weights) {
  EgressConfig config;
  for (std::uint8_t p = 0; p < 3; ++p) config.weights.push_back({p, weights[p]});
  Bench bench(config);
  const std::array<std::uint32_t, 3> payloads = {4096, 256, 1024};
  for (std::uint8_t p = 0; p < 3; ++p)
    for (std::uint32_t bytes = 0; bytes < 10000000; bytes += payloads[p])
      bench.enqueue(p, Time(), payloads[p]);
  bench.scheduler.run_until(1_ms);  // 12.5 MB, of 30
  std::array<double, 3> bytes{};
  for (const auto& each : bench.sent)
    bytes[each.priority] += static_cast<double>(each.bytes.count());
  const double total = bytes[0] + bytes[1] + bytes[2];
  const double all = weights[0] + weights[1] + weights[2];
  const double least = std::min({weights[0], weights[1], weights[2]});
  for (std::size_t p = 0; p < 3; ++p) {
    CAPTURE(p, bytes[p], total);
    REQUIRE((bench.egress.nonempty() >> p & 1) != 0);
    CHECK(std::abs(bytes[p] - total * weights[p] / all) < (weights[p] / least + 1) * 9280 + 4158);
  }
}

}  // namespace

TEST_CASE("weights share bytes, not packets") { check_shares({1, 2, 5}); }
TEST_CASE("equal weights share alike") { check_shares({1, 1, 1}); }
TEST_CASE("weights that are percentages take turns as often as small ones") {
  check_shares({50, 30, 20});
}
TEST_CASE("weights that divide nothing share as exactly") { check_shares({33, 34, 33}); }

TEST_CASE("weights of fifty to fifty take turns by two packets, not by a hundred") {
  EgressConfig config;
  config.weights = {{0, 50}, {1, 50}};
  Bench bench(config);
  for (int i = 0; i < 12; ++i) bench.enqueue(static_cast<std::uint8_t>(i % 2), Time(), 4096);
  bench.scheduler.run_until(1_ms);
  std::vector<int> order;
  for (const auto& each : bench.sent) order.push_back(each.priority);
  CHECK(order == std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1});
}

TEST_CASE("a priority that is named twice is a bad configuration") {
  const auto failure = [](const char* text) -> std::string {
    EgressConfig config;
    try {
      read_config(parse_json(text, "x.json"), config);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(failure(R"({"weights": [{"priority": 3, "weight": 1}, {"priority": 3, "weight": 2}]})") ==
        "x.json:1: weights: must not name a priority twice");
  CHECK(failure(R"({"ecn": [{"priority": 3}, {"priority": 4}, {"priority": 3}]})") ==
        "x.json:1: ecn: must not name a priority twice");
  CHECK(failure(R"({"weights": [{"priority": 3, "weight": 1}, {"priority": 4, "weight": 2}]})")
            .empty());
}

TEST_CASE("strict priorities go before all that share by weight") {
  EgressConfig config;
  config.weights = {{3, 90}, {7, 10}};
  Bench bench(config);
  bench.enqueue(3);
  bench.enqueue(3);
  bench.enqueue(7);
  bench.enqueue(0);
  bench.enqueue(1);
  bench.scheduler.run_until(1_ms);
  CHECK(bench.order() == std::vector<std::uint32_t>{0, 4, 3, 1, 2});
}

TEST_CASE("a paused priority is passed over, and goes on when its time is over") {
  Bench bench(instant_pauses());
  bench.pauses(1U << 7, 100);  // 512 ns
  bench.scheduler.run_until(1_ns);
  bench.enqueue(7);
  bench.enqueue(7);
  bench.enqueue(0);
  CHECK(bench.egress.held_up() == 1U << 7);
  bench.scheduler.at(2_us, {[](void*, std::uint64_t) {}, nullptr, 0});
  bench.scheduler.run_until(1_ms);
  CHECK(bench.order() == std::vector<std::uint32_t>{2, 0, 1});
  CHECK(bench.sent[1].head == 512_ns + kPreamble);
}

TEST_CASE("an observer sees how long packets waited, and of that how long they were stopped") {
  Bench bench(instant_pauses());
  test::ProbeRecorder probes;
  bench.egress.probe.attach(&probes, 9);
  bench.pauses(1U << 7, 100);  // 512 ns
  bench.scheduler.run_until(1_ns);
  bench.enqueue(7, 20_ns);
  bench.enqueue(7, 30_ns);
  bench.scheduler.at(2_us, {[](void*, std::uint64_t) {}, nullptr, 0});
  bench.scheduler.run_until(1_ms);
  const std::vector<ProbeRecord> starts = probes.of(ProbeKind::kPacketStarts);
  REQUIRE(starts.size() == 2);
  CHECK(starts[0].component == 9);
  CHECK(starts[0].time == 512_ns);
  CHECK(starts[0].a == 20'000);
  CHECK(starts[0].b == 492'000);  // all of it
  CHECK(starts[1].time == 512_ns + slot(1086));
  CHECK(starts[1].a == 30'000);
  CHECK(starts[1].b == 512'000);  // the whole pause, and then it waited for the other
  const std::vector<ProbeRecord> forwarded = probes.of(ProbeKind::kPacketForwarded);
  REQUIRE(forwarded.size() == 2);
  CHECK(forwarded[1].time == bench.sent[1].tail);
  CHECK(forwarded[1].b == 1086);
}

TEST_CASE("a paused priority that shares by weight keeps nobody from sending") {
  EgressConfig config = instant_pauses();
  config.weights = {{0, 1}, {1, 1}};
  Bench bench(config);
  bench.pauses(1U << 0, 0xffff);
  bench.scheduler.run_until(1_ns);
  for (int i = 0; i < 4; ++i) bench.enqueue(static_cast<std::uint8_t>(i % 2), Time(), 4096);
  CHECK(bench.scheduler.run_until(10_us) == Scheduler::End::kReached);
  CHECK(bench.order() == std::vector<std::uint32_t>{1, 3});
  CHECK(bench.egress.held_up() == 1U << 0);
  CHECK_FALSE(bench.egress.idle());
}

TEST_CASE("packets that wait for the end of a pause keep the run alive until it is over") {
  Bench bench(instant_pauses());
  bench.pauses(1U << 3, 0xffff);
  bench.scheduler.run_until(1_ns);
  CHECK(bench.scheduler.run_until(1_us) == Scheduler::End::kIdle);  // nobody waits for it
  bench.enqueue(3);
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
  REQUIRE(bench.sent.size() == 1);
  CHECK(bench.sent[0].given == Time::ps(std::int64_t{0xffff} * 5120));
  CHECK(bench.egress.idle());
}

TEST_CASE("what is discarded does not leave, and keeps nothing alive") {
  Bench bench(instant_pauses());
  bench.pauses(1U << 3, 0xffff);
  bench.scheduler.run_until(1_ns);
  for (int i = 0; i < 3; ++i) bench.enqueue(3);
  bench.enqueue(2);
  std::vector<std::uint32_t> gone;
  bench.egress.discard(3, [&](const Packet& packet) { gone.push_back(packet.bth.psn.value()); });
  CHECK(gone == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(bench.scheduler.run_until(10_us) == Scheduler::End::kIdle);
  CHECK(bench.order() == std::vector<std::uint32_t>{3});
  CHECK(bench.egress.idle());
}

TEST_CASE("priorities that go on together go by their order") {
  Bench bench(instant_pauses());
  bench.pauses(0xff, 100);
  bench.scheduler.run_until(1_ns);
  for (const std::uint8_t priority : {1, 6, 4}) bench.enqueue(priority);
  bench.scheduler.at(2_us, {[](void*, std::uint64_t) {}, nullptr, 0});
  bench.scheduler.run_until(1_ms);
  CHECK(bench.order() == std::vector<std::uint32_t>{1, 2, 0});
}

TEST_CASE("a packet that has begun when its priority is paused is sent whole") {
  Bench bench(instant_pauses());
  bench.enqueue(3);
  bench.enqueue(3);
  bench.scheduler.run_until(10_ns);
  bench.pauses(1U << 3, 0xffff);
  bench.scheduler.run_until(10_us);
  CHECK(bench.order() == std::vector<std::uint32_t>{0});
  CHECK(bench.lefts.size() == 1);
}

TEST_CASE("a pause frame goes before all packets that wait, and is no packet of the memory") {
  Bench bench;
  bench.enqueue(7);
  bench.enqueue(7);
  bench.egress.requester().xoff(3);
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.sent.size() == 3);
  CHECK(bench.sent[1].kind == FrameKind::kPause);
  CHECK(bench.sent[1].head == slot(1086) + kPreamble);
  CHECK(bench.sent[1].tail == slot(1086) + slot(64) - kGap);
  CHECK(bench.sent[2].head == slot(1086) + slot(64) + kPreamble);
  CHECK(bench.pause.classes == 1U << 3);
  CHECK(bench.pause.quanta[3] == 0xffff);
  CHECK(bench.lefts.size() == 2);
}

TEST_CASE("a pause frame leaves an idle port at once, and one that is itself paused") {
  Bench bench(instant_pauses());
  bench.pauses(0xff, 0xffff);
  bench.scheduler.run_until(1_us);
  bench.enqueue(3);
  bench.egress.requester().xoff(3);
  bench.scheduler.run_until(10_us);
  REQUIRE(bench.sent.size() == 1);
  CHECK(bench.sent[0].kind == FrameKind::kPause);
  CHECK(bench.lefts.empty());
}

TEST_CASE("marks are set on capable packets only, as they leave") {
  EgressConfig config;
  EcnConfig ecn;
  ecn.priority = 3;
  ecn.kmin = ecn.kmax = 1000_B;
  config.ecn = {ecn};
  Bench bench(config);
  for (const Ecn field : {Ecn::kCapable0, Ecn::kNotCapable, Ecn::kCapable1, Ecn::kCongestion})
    bench.enqueue(3, Time(), 1024, field);
  bench.enqueue(2, Time(), 1024, Ecn::kCapable0);
  bench.waits.fill(2000_B);  // the first has left by then
  bench.scheduler.run_until(1_ms);
  std::vector<Ecn> fields;
  for (const auto& each : bench.sent) fields.push_back(each.ecn);
  CHECK(fields == std::vector<Ecn>{Ecn::kCapable0, Ecn::kNotCapable, Ecn::kCongestion,
                                   Ecn::kCongestion, Ecn::kCapable0});
  CHECK(bench.egress.marked() == 1);
  const auto metrics = test::metrics_of(bench.egress);
  CHECK(metrics.at("ecn_marked") == 1);
  CHECK(metrics.at("ecn_queue.mean") == 1500);
  CHECK(metrics.at("ecn_queue.max") == 2000);
}

TEST_CASE(
    "a request that collects telemetry gets the port's record as it leaves, and grows by it") {
  Bench bench;
  bench.waits.fill(1200_B);  // of these the packet itself 1088 B
  bench.enqueue(3);
  for (const Opcode opcode : {Opcode::kWriteMiddle, Opcode::kAcknowledge}) {
    PacketRef packet = bench.packets.create();
    packet->bth.opcode = opcode;
    packet->set_payload_length(Bytes(1024));
    packet->priority = 3;
    packet->begin_telemetry();
    bench.egress.enqueue(packet, Time());
    bench.scheduler.run_until(bench.scheduler.now() + 1_us);
    if (opcode == Opcode::kAcknowledge) {
      CHECK(packet->hops() == 0);
      continue;
    }
    REQUIRE(packet->hops() == 1);
    const HopTelemetry hop = HopTelemetry::decode(packet->hop(0));
    CHECK(hop.bits_per_second() == 100'000'000'000);
    CHECK(hop.time == 88);  // behind the first, 88.48 ns
    CHECK(hop.sent == (1086 + 20) / 128);
    CHECK(hop.waiting_bytes() == 80_B);
    CHECK(bench.sent[1].bytes == 1096_B);
    CHECK(bench.sent[1].tail - bench.sent[1].head == slot(1096) - kPreamble - kGap);
    CHECK(bench.lefts[1].bytes == 1088_B);
  }
}
