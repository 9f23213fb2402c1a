// SPDX-License-Identifier: MIT
#include "nic/ethernet/receive_merger.h"

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

/// Keeps what goes on: payload, segments and when.
struct Bench : ReceiveMerger::Client {
  explicit Bench(const EthernetConfig& config = {}) : merger(scheduler, config, *this) {}

  struct Out {
    std::uint32_t length;
    std::uint32_t segments;
    std::uint16_t port;
    Time time;
  };
  void merged(ReceiveMerger::Session& session) override {
    std::uint32_t packets = 0;
    for (; !session.packets.empty(); ++packets) session.packets.take();
    CHECK(packets == session.merged.segments);
    out.push_back({session.merged.length, session.merged.segments, session.flow.source_port,
                   scheduler.now()});
  }
  PacketRef segment(std::uint32_t sequence, std::uint32_t length, std::uint16_t port = 1000,
                    bool psh = false) {
    PacketRef packet = pool.create();
    TcpHeader header;
    header.source_port = port;
    header.destination_port = 5001;
    header.sequence = TcpSeq(sequence);
    header.ack = true;
    header.psh = psh;
    packet->become_tcp(header, Bytes(length), true);
    return packet;
  }
  /// Whether it waits, or went on with others.
  bool take(PacketRef packet, bool may = true) { return merger.take(packet, 0, 7, may); }
  void at(Time time, std::function<void()> function) {
    actions.push_back(std::move(function));
    scheduler.at(time, call<&Bench::act>(this, actions.size() - 1));
  }
  void act(std::uint64_t index) { actions[index](); }

  Scheduler scheduler{"scheduler"};
  PacketPool pool;
  ReceiveMerger merger;
  std::vector<Out> out;
  std::vector<std::function<void()>> actions;
};

}  // namespace

TEST_CASE("segments that follow each other become one, up to a push") {
  Bench bench;
  for (std::uint32_t i = 0; i < 3; ++i)
    CHECK(bench.take(bench.segment(i * 1460, 1460, 1000, i == 2)));
  REQUIRE(bench.out.size() == 1);
  CHECK(bench.out[0].length == 3 * 1460);
  CHECK(bench.out[0].segments == 3);
  CHECK(bench.merger.idle());
}

TEST_CASE("a short segment is the last of those that are merged") {
  Bench bench;
  CHECK(bench.take(bench.segment(0, 1460)));
  CHECK(bench.take(bench.segment(1460, 100)));
  REQUIRE(bench.out.size() == 1);
  CHECK(bench.out[0].length == 1560);
}

TEST_CASE("a segment that does not follow begins anew") {
  Bench bench;
  CHECK(bench.take(bench.segment(0, 1460)));
  CHECK(bench.take(bench.segment(1460, 1460)));
  CHECK(bench.take(bench.segment(5000, 1460)));
  REQUIRE(bench.out.size() == 1);
  CHECK(bench.out[0].segments == 2);
  CHECK_FALSE(bench.merger.idle());
}

TEST_CASE("a segment that cannot be merged stays behind those of its flow") {
  Bench bench;
  CHECK(bench.take(bench.segment(0, 1460)));
  CHECK_FALSE(bench.take(bench.segment(1460, 1460), false));
  REQUIRE(bench.out.size() == 1);
  CHECK(bench.merger.idle());
}

TEST_CASE("what carries no data, or ends at once, does not wait") {
  Bench bench;
  CHECK_FALSE(bench.take(bench.segment(0, 0)));
  CHECK_FALSE(bench.take(bench.segment(0, 1460, 1000, true)));
  CHECK(bench.out.empty());
  CHECK(bench.merger.idle());
}

TEST_CASE("a merged segment waits no longer than its time after the first") {
  Bench bench;
  bench.at(5_us, [&] { bench.take(bench.segment(0, 1460)); });
  bench.at(30_us, [&] { bench.take(bench.segment(1460, 1460)); });
  bench.at(38_us, [&] { bench.take(bench.segment(2920, 1460)); });
  bench.scheduler.run_until(1_ms);
  REQUIRE(bench.out.size() == 2);
  CHECK(bench.out[0].segments == 2);
  CHECK(bench.out[0].time == 37_us);
  CHECK(bench.out[1].time == 70_us);
  CHECK(bench.merger.idle());
}

TEST_CASE("44 segments of 1460 B fill an IP packet of 64 KiB") {
  Bench bench;
  for (std::uint32_t i = 0; i < 45; ++i) CHECK(bench.take(bench.segment(i * 1460, 1460)));
  REQUIRE(bench.out.size() == 1);
  CHECK(bench.out[0].segments == 44);
}

TEST_CASE("flows merge side by side, and the oldest goes on when there are too many") {
  EthernetConfig config;
  config.merge_flows = 2;
  Bench bench(config);
  for (std::uint32_t i = 0; i < 2; ++i)
    for (const std::uint16_t port : {1000, 1001})
      CHECK(bench.take(bench.segment(i * 1460, 1460, port)));
  CHECK(bench.out.empty());
  CHECK(bench.take(bench.segment(0, 1460, 1002)));
  REQUIRE(bench.out.size() == 1);
  CHECK(bench.out[0].port == 1000);
  CHECK(bench.out[0].segments == 2);
}

TEST_CASE("what waits never takes more than the merge buffer") {
  EthernetConfig config;
  config.merge_buffer = Bytes(16 * 1024);
  Bench bench(config);
  for (std::uint32_t i = 0; i < 30; ++i) CHECK(bench.take(bench.segment(i * 1460, 1460)));
  // Frames of 1518 B: ten fit.
  REQUIRE(bench.out.size() == 2);
  CHECK(bench.out[0].segments == 10);
  CHECK(bench.out[1].segments == 10);
}
