// SPDX-License-Identifier: MIT
#include "model/credit.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/invariant.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr BitRate kRate = BitRate::gbps(100);
/// 65,536 symbols of four bytes at 100 Gb/s.
constexpr Time kPeriod = Time::ps(65536LL * 4 * 80);
/// 65 blocks.
constexpr Bytes kPacket{4096 + 26 + 16};

CreditConfig config_of(std::uint8_t lanes, Bytes buffer, Bytes update) {
  CreditConfig config;
  config.data_lanes = lanes;
  config.lane_buffer = buffer;
  config.update = update;
  return config;
}

/// An end whose flow control packets leave at once.
struct Bench {
  explicit Bench(const CreditConfig& config = config_of(2, Bytes(64 * 100), Bytes(64 * 10)))
      : credit({scheduler, kRate, Bytes(1 << 20), "memory", kPacket, "nic.port",
                call<&Bench::go>(this)},
               config) {}
  void go() {
    ++calls;
    while (credit.packet_is_due()) {
      times.push_back(scheduler.now());
      packets.push_back(credit.take_packet());
    }
  }
  void nothing() {}
  /// What the other end says of a lane.
  void hear(std::uint8_t lane, std::uint32_t limit, std::uint32_t total_sent = 0) {
    credit.receive({CreditPacket::kNormal, lane, static_cast<std::uint16_t>(total_sent & 0xfff),
                    static_cast<std::uint16_t>(limit & 0xfff)});
  }
  void hear_at(Time time, std::uint32_t limit) {
    scheduler.at(time, call<&Bench::hear_limit>(this, limit));
  }
  void hear_limit(std::uint64_t limit) { hear(0, static_cast<std::uint32_t>(limit)); }
  /// The first packets are for time zero.
  void come_up() {
    scheduler.at(1_ns, call<&Bench::nothing>(this));
    scheduler.run_until(1_ns);
    packets.clear();
    times.clear();
    calls = 0;
  }

  Scheduler scheduler{"scheduler"};
  CreditLink credit;
  std::vector<Time> times;
  std::vector<CreditPacket> packets;
  int calls = 0;
};

}  // namespace

TEST_CASE("a link that comes up tells the room of every lane, and again every 65,536 symbols") {
  Bench bench;
  bench.scheduler.at(kPeriod * 2 + 1_ns, call<&Bench::nothing>(&bench));
  bench.scheduler.run_until(1_ms);
  REQUIRE(bench.packets.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(bench.times[i] == kPeriod * static_cast<std::int64_t>(i / 2));
    CHECK(bench.packets[i].lane == i % 2);
    CHECK(bench.packets[i].operation ==
          (i < 2 ? CreditPacket::kInitialise : CreditPacket::kNormal));
    CHECK(bench.packets[i].limit == 100);
    CHECK(bench.packets[i].total_sent == 0);
  }
}

TEST_CASE("nobody sends before the other end has told its room, nor one block more than that") {
  Bench bench;
  bench.come_up();
  CHECK_FALSE(bench.credit.offer(0, Bytes(64), Time()));
  bench.hear(0, 3);
  CHECK(bench.credit.stalled() == 0);
  CHECK_FALSE(bench.credit.offer(0, Bytes(64 * 3 + 1), Time()));
  bench.hear(0, 3);
  CHECK(bench.credit.stalled() == 1);
  bench.hear(0, 4);
  CHECK(bench.credit.offer(0, Bytes(64 * 3 + 1), Time()));
  bench.credit.sent(0, Bytes(64 * 3 + 1));
  CHECK_FALSE(bench.credit.offer(0, Bytes(1), Time()));
}

TEST_CASE("each lane has its own credit") {
  Bench bench;
  bench.come_up();
  bench.hear(1, 10);
  CHECK_FALSE(bench.credit.offer(0, Bytes(64), Time()));
  CHECK(bench.credit.offer(1, Bytes(640), Time()));
  CHECK(bench.credit.stalled() == 1);
}

TEST_CASE("a stalled lane goes on when there is credit for the packet that waits, and not before") {
  Bench bench;
  bench.come_up();
  bench.hear_at(100_ns, 2);
  bench.hear_at(300_ns, 3);
  CHECK_FALSE(bench.credit.offer(0, Bytes(64 * 3), 50_ns));
  bench.scheduler.run_until(299_ns);
  CHECK(bench.credit.stalled() == 1);
  CHECK(bench.calls == 0);
  bench.scheduler.run_until(300_ns);
  CHECK(bench.credit.stalled() == 0);
  CHECK(bench.calls == 1);
  bench.scheduler.run_until(400_ns);
  const auto metrics = test::metrics_of(bench.credit);
  CHECK(metrics.at("tx.stalled.credit") == 250000);
  CHECK(metrics.at("vl0.tx.stalled.credit") == 250000);
  CHECK(metrics.at("vl0.tx_stalls") == 1);
}

TEST_CASE("counts wrap at 4,096 blocks") {
  Bench bench;
  bench.come_up();
  std::uint32_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    bench.hear(0, sent + 66);
    REQUIRE(bench.credit.offer(0, kPacket, Time()));
    bench.credit.sent(0, kPacket);
    sent += 65;
    REQUIRE_FALSE(bench.credit.offer(0, Bytes(128), Time()));
  }
  REQUIRE(sent > 3 * 4096);
}

TEST_CASE("room that is given back is told once it is worth a packet") {
  Bench bench;
  bench.come_up();
  bench.credit.take(0, Bytes(64 * 9));
  bench.credit.take(0, Bytes(33));  // a block
  bench.credit.give_back(0, Bytes(64 * 9));
  CHECK(bench.packets.empty());
  bench.credit.give_back(0, Bytes(33));
  REQUIRE(bench.packets.size() == 1);
  CHECK(bench.packets[0].lane == 0);
  CHECK(bench.packets[0].limit == 110);
  bench.credit.pass(1, Bytes(64 * 10));
  REQUIRE(bench.packets.size() == 2);
  CHECK(bench.packets[1].lane == 1);
  CHECK(bench.packets[1].limit == 110);
}

TEST_CASE("what was lost on the way is made up for by the count of what was sent") {
  Bench bench;
  bench.come_up();
  bench.credit.take(0, Bytes(64 * 5));
  bench.hear(0, 0, 5 + 20);  // 20 blocks never came
  REQUIRE(bench.packets.size() == 1);
  CHECK(bench.packets[0].limit == 100 + 20);
  bench.credit.take(0, Bytes(64 * 7));  // one that came twice
  bench.credit.give_back(0, Bytes(64 * 5));
  bench.credit.give_back(0, Bytes(64 * 7));
  REQUIRE(bench.packets.size() == 2);
  CHECK(bench.packets[1].limit == 100 + 25 + 7);
  bench.hear(0, 0, 25);
  bench.credit.pass(0, Bytes(64 * 17));
  REQUIRE(bench.packets.size() == 3);
  CHECK(bench.packets[2].limit == 100 + 25 + 17);
}

TEST_CASE("a flow control packet says how much this end has sent") {
  Bench bench;
  bench.come_up();
  bench.hear(1, 100);
  bench.credit.sent(1, kPacket);
  bench.credit.pass(1, Bytes(64 * 10));
  REQUIRE(bench.packets.size() == 1);
  CHECK(bench.packets[0].total_sent == 65);
}

TEST_CASE("a packet without credit that finds no room is a lossless drop, with both numbers") {
  Bench bench;
  bench.come_up();
  bench.credit.take(1, Bytes(64 * 100));
  try {
    bench.credit.take(1, Bytes(65));
    FAIL("it was taken");
  } catch (const InvariantBroken& broken) {
    CHECK(broken.kind() == "lossless_drop");
    CHECK(broken.where() == "nic.port");
    CHECK(std::string(broken.what()) ==
          "nic.port at 1000 ps: a packet of virtual lane 1 came without credit and finds no room: "
          "its buffer has 6400 B, 6528 B are needed by now");
  }
}

TEST_CASE("lanes share a port's memory, none with more than half of what counts can tell apart") {
  CreditConfig config;
  config.data_lanes = 4;
  Bench bench(config);
  CHECK(bench.credit.lane_buffer() == Bytes(128 * 1024));
  CHECK(test::metrics_of(bench.credit).at("tx_flow_control") == 0);
  config.data_lanes = 8;
  Scheduler scheduler("two");
  const CreditLink small({scheduler, kRate, Bytes(8 * 4224 + 7), "memory", kPacket, "p", {}},
                         config);
  CHECK(small.lane_buffer() == Bytes(4224));
}

TEST_CASE("a lane's buffer must hold the largest packet") {
  Scheduler scheduler("scheduler");
  try {
    const CreditLink link({scheduler, kRate, Bytes(8 * 4160 - 1), "memory", kPacket, "p", {}}, {});
    FAIL("it does not");
  } catch (const ConfigError& error) {
    CHECK(error.detail().path == "memory");
    CHECK(error.detail().found == "4096 B");
  }
}

TEST_CASE(
    "a sender that stalls keeps the run alive for three periods, so that a lost packet is "
    "made up for and a deadlock ends it") {
  Bench bench;
  bench.come_up();
  CHECK_FALSE(bench.credit.offer(0, Bytes(64), Time()));
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
  CHECK(bench.scheduler.now() == kPeriod * 3);
  CHECK(bench.credit.stalled() == 1);
}
