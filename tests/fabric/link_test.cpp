// SPDX-License-Identifier: MIT
#include "fabric/link.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

struct Sink : PacketSink {
  Sink(Scheduler& scheduler, bool cut_through) : scheduler(scheduler), cut_through(cut_through) {}
  void receive(PacketRef packet) override {
    times.push_back(scheduler.now());
    packets.push_back(std::move(packet));
  }
  bool wants_cut_through() const override { return cut_through; }
  Scheduler& scheduler;
  bool cut_through;
  std::vector<Time> times;
  std::vector<PacketRef> packets;
};

/// A link of 3 m at 100 Gb/s: 15 ns, 80 ps a byte.
struct Bench {
  explicit Bench(bool cut_through) : sink(scheduler, cut_through) { link.connect(sink); }
  /// A frame of `payload` + 62 B whose first bit leaves at `head`, given to the link then.
  void send(Time head, std::uint32_t payload) {
    PacketRef packet = pool.create();
    packet->bth.opcode = RcOpcode::kWriteMiddle;
    packet->bth.psn = Psn(static_cast<std::uint32_t>(waiting.size()));
    packet->set_payload_length(Bytes(payload));
    packet->head = head;
    packet->tail = head + Time::ps(80) * static_cast<std::int64_t>(packet->frame_bytes().count());
    waiting.push_back(packet);
    scheduler.at(head, call<&Bench::enter>(this, waiting.size() - 1));
  }
  void enter(std::uint64_t index) { link.receive(waiting[index]); }

  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  Sink sink;
  LinkDirection link{scheduler, LinkConfig{}, 1};
  std::vector<PacketRef> waiting;
};

constexpr Time kPropagation = Time::ns(15);

}  // namespace

TEST_CASE("a link delivers each packet at its last bit, one propagation after the sender") {
  Bench bench(false);
  bench.send(100_ns, 1024);
  bench.send(200_ns, 4);
  bench.scheduler.run_until(1_us);
  const Time first = 100_ns + Time::ps(80 * (1024 + 62)) + kPropagation;
  const Time second = 200_ns + Time::ps(80 * 66) + kPropagation;
  REQUIRE(bench.sink.times == std::vector<Time>{first, second});
  CHECK(bench.sink.packets[0]->head == 100_ns + kPropagation);
  CHECK(bench.sink.packets[0]->tail == first);
}

TEST_CASE("a sink that cuts through gets a packet when its first 64 bytes have arrived") {
  Bench bench(true);
  bench.send(100_ns, 4096);
  bench.send(1_us, 0);  // a frame of 64 B
  bench.scheduler.run_until(10_us);
  CHECK(bench.sink.times == std::vector<Time>{100_ns + Time::ps(80 * 64) + kPropagation,
                                              1_us + Time::ps(80 * 64) + kPropagation});
  CHECK(bench.sink.packets[0]->tail > bench.sink.times[0]);
}

TEST_CASE("a link holds many packets at once and keeps their order") {
  Bench bench(false);
  for (int i = 0; i < 50; ++i) bench.send(100_ns + Time::ns(2) * i, 0);
  bench.scheduler.run_until(110_ns);
  CHECK(bench.link.in_flight() == 6);  // those of 100, 102, ... 110 ns
  bench.scheduler.run_until(100_ns + Time::ps(64 * 80) + kPropagation);
  CHECK(bench.link.in_flight() == 10);  // those of 102 to 120 ns
  bench.scheduler.run_until(10_us);
  REQUIRE(bench.sink.packets.size() == 50);
  for (std::uint32_t i = 0; i < 50; ++i) CHECK(bench.sink.packets[i]->bth.psn == Psn(i));
  CHECK(bench.link.in_flight() == 0);
  CHECK(bench.link.entered_packets() == 50);
  CHECK(bench.link.entered_bytes() == Bytes(50 * 64));
  CHECK(bench.link.left_bytes() == bench.link.entered_bytes());
  auto metrics = test::metrics_of(bench.link);
  CHECK(metrics.at("occupancy.max") == 11);  // at 120 ns: those of 100 to 120 ns
  CHECK(metrics.at("busy") == 50ULL * 64 * 80);
}
