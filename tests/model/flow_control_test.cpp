// SPDX-License-Identifier: MIT
#include "model/flow_control.h"

#include <catch2/catch.hpp>
#include <optional>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr BitRate kRate = BitRate::gbps(100);
constexpr MacAddress kMac{2, 0, 0, 0, 0, 9};

PauseConfig pausing() {
  PauseConfig config;
  config.mode = PauseMode::kPriority;
  config.response_time = Time();
  return config;
}

/// 1,000 quanta of 5,120 ps.
constexpr Time kPause = Time::ps(5'120'000);

struct Bench {
  explicit Bench(LinkLayer link_layer = LinkLayer::kRoceV2) {
    if (link_layer == LinkLayer::kInfiniBand)
      credit.emplace(CreditLink::Wiring{scheduler, kRate, Bytes(1 << 20), "memory", Bytes(1066),
                                        "port", call<&Bench::go>(this)},
                     CreditConfig{});
    flow_control.emplace(FlowControl::Wiring{scheduler, pool, kRate, kMac, link_layer,
                                             credit ? &*credit : nullptr, call<&Bench::go>(this)},
                         pausing());
  }
  void go() { ++calls; }
  void pause_priority_3() {
    PauseFrame frame;
    frame.classes = 1 << 3;
    frame.quanta[3] = 1000;
    flow_control->listener().receive(frame);
  }

  Scheduler scheduler{"scheduler"};
  PacketPool pool;
  int calls = 0;
  std::optional<CreditLink> credit;
  std::optional<FlowControl> flow_control;
};

}  // namespace

TEST_CASE("a buffer that fills makes a pause frame of the port's own address") {
  Bench bench;
  CHECK_FALSE(bench.flow_control->frame_is_due());
  bench.flow_control->requester().xoff(3);
  CHECK(bench.calls == 1);
  REQUIRE(bench.flow_control->frame_is_due());
  const PacketRef packet = bench.flow_control->take_frame();
  CHECK(packet->kind == FrameKind::kPause);
  CHECK(packet->eth.source == kMac);
  CHECK(packet->eth.destination == kMacControlAddress);
  CHECK(packet->pause.classes == 1 << 3);
  CHECK_FALSE(bench.flow_control->frame_is_due());
}

TEST_CASE("what waits for the end of a pause, and only that, keeps a run alive until then") {
  Bench bench;
  FlowControl& flow_control = *bench.flow_control;
  bench.scheduler.at(1_us, call<&Bench::pause_priority_3>(&bench));
  CHECK(bench.scheduler.run_until(2_us) == Scheduler::End::kIdle);
  CHECK(flow_control.held_up() == 1 << 3);
  flow_control.note_waiting(1 << 3 | 1 << 1);  // the other one may go
  CHECK(bench.scheduler.run_until(2_us) == Scheduler::End::kIdle);
  flow_control.note_waiting(1 << 3);
  flow_control.note_waiting(1 << 3);  // holds once
  CHECK(bench.scheduler.run_until(1_us + kPause - Time::ps(1)) == Scheduler::End::kReached);
  CHECK(flow_control.held_up() == 1 << 3);
  CHECK(bench.calls == 0);
  CHECK(bench.scheduler.run_until(1_us + kPause) == Scheduler::End::kReached);
  CHECK(flow_control.held_up() == 0);
  CHECK(bench.calls == 1);
  flow_control.note_waiting(1 << 3);
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
}

TEST_CASE("InfiniBand's ports have credits and never pause") {
  Bench bench(LinkLayer::kInfiniBand);
  bench.scheduler.at(1_us, call<&Bench::go>(&bench));
  bench.scheduler.run_until(1_us);
  REQUIRE(bench.flow_control->has_credits());
  REQUIRE(bench.flow_control->frame_is_due());
  CHECK(bench.flow_control->take_frame()->kind == FrameKind::kCredit);
  bench.flow_control->requester().xoff(3);
  CHECK_FALSE(bench.flow_control->requester().frame_is_due());
  const PacketRef packet = bench.pool.create();
  packet->link_layer = LinkLayer::kInfiniBand;
  CHECK_FALSE(bench.flow_control->admits(2, *packet, 0_us));  // nobody has told of any room
  CHECK(bench.flow_control->held_up() == 1 << 2);
}
