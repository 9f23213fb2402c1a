// SPDX-License-Identifier: MIT
// The switch's watchdog: what it does when a port is paused without end.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/switch_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SwitchBench;

namespace {

using Action = StormWatchdogConfig::Action;

SwitchConfig watched(Action action) {
  SwitchConfig config;
  config.egress.pause.quanta = 2000;  // 10.24 us
  config.watchdog.detection_time = 50_us;
  config.watchdog.restoration_time = 30_us;
  config.watchdog.action = action;
  return config;
}

/// End 3 pauses from time zero to 100 us; ends 1 and 2 send to each other and to it.
struct Storm : SwitchBench {
  explicit Storm(Action action) : SwitchBench(watched(action)) {
    ends[2].requester().jam(3);
    scheduler.at(5_us, call<&Storm::send>(this));
    scheduler.at(100_us, call<&Storm::stop>(this));
  }
  void send() { ends[0].start({3, 5, 1024}); }
  void stop() { ends[2].requester().let_go(3); }
  void run_to(Time time) {
    scheduler.at(time, {[](void*, std::uint64_t) {}, nullptr, 0});
    scheduler.run_until(time);
  }
};

}  // namespace

TEST_CASE("a watchdog that only alerts lets a paused port wait") {
  Storm bench(Action::kAlert);
  bench.run_to(99_us);
  CHECK(bench.ends[2].received_packets == 0);
  const PauseSpan storm = bench.the_switch.pause_storm(2, 3);
  CHECK(storm.since < 3_us);
  CHECK(storm.since + storm.lasted == 99_us);
  CHECK(bench.the_switch.pause_storm(2, 4).lasted == Time());
  bench.run_to(200_us);
  CHECK(bench.ends[2].received_packets == 5);
  bench.check_conservation();
}

TEST_CASE("a pause that ends before the detection time is no storm") {
  Storm bench(Action::kDrop);
  bench.scheduler.at(40_us, call<&Storm::stop>(static_cast<Storm*>(&bench)));
  bench.run_to(200_us);
  CHECK(bench.the_switch.pause_storm(2, 3).lasted == Time());
  CHECK(bench.metric("port2.watchdog.storms") == 0);
  CHECK(bench.ends[2].received_packets == 5);
}

TEST_CASE("a watchdog that ignores the storm sends on, and obeys again when it is over") {
  Storm bench(Action::kIgnore);
  bench.run_to(51_us);
  CHECK(bench.ends[2].received_packets == 0);
  bench.run_to(60_us);
  CHECK(bench.ends[2].received_packets == 5);
  CHECK(bench.metric("port2.watchdog.storms") == 1);
  CHECK(bench.metric("port2.watchdog.restored") == 0);
  bench.run_to(140_us);  // the last frame of the storm came before 100 us
  CHECK(bench.metric("port2.watchdog.restored") == 1);
  bench.ends[2].requester().xoff(3);
  bench.run_to(145_us);
  CHECK(bench.the_switch.egress(2).listener().is_paused(3));
  bench.check_conservation();
}

TEST_CASE("a watchdog that drops loses what waits and what comes, to the port and from it") {
  Storm bench(Action::kDrop);
  bench.run_to(60_us);
  CHECK(bench.the_switch.idle());
  CHECK(bench.metric("port0.watchdog.dropped") == 5);
  CHECK(bench.the_switch.buffer().occupied() == Bytes());
  bench.ends[0].start({3, 2, 1024});     // to the port
  bench.ends[2].start({1, 3, 1024});     // from it
  bench.ends[2].start({1, 3, 1024, 1});  // another priority
  bench.ends[0].start({2, 4, 1024});     // others are not concerned
  bench.run_to(70_us);
  CHECK(bench.metric("port0.watchdog.dropped") == 7);
  CHECK(bench.metric("port2.watchdog.dropped") == 3);
  CHECK(bench.ends[0].received_packets == 3);
  CHECK(bench.ends[1].received_packets == 4);
  CHECK(bench.ends[2].received_packets == 0);
  bench.run_to(140_us);
  bench.ends[0].start({3, 6, 1024});
  bench.run_to(150_us);
  CHECK(bench.ends[2].received_packets == 6);
  bench.check_conservation();
}
