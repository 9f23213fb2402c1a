// SPDX-License-Identifier: MIT
#include "model/pause.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

constexpr BitRate kRate = BitRate::gbps(100);
/// 512 bit times at 100 Gb/s.
constexpr Time kQuantum = Time::ps(5120);

PauseConfig config_of(PauseMode mode, std::uint16_t quanta, Time response) {
  PauseConfig config;
  config.mode = mode;
  config.quanta = quanta;
  config.response_time = response;
  return config;
}

PauseFrame pfc(std::uint8_t classes, std::uint16_t quanta) {
  PauseFrame frame;
  frame.classes = classes;
  for (std::size_t p = 0; p < kPriorities; ++p)
    if ((classes >> p & 1) != 0) frame.quanta[p] = quanta;
  return frame;
}

PauseFrame global(std::uint16_t quanta) {
  PauseFrame frame;
  frame.kind = PauseFrame::Kind::kGlobal;
  frame.quanta[0] = quanta;
  return frame;
}

HeadroomDemand demand_of(BitRate rate, Time propagation, Time response, Bytes largest) {
  HeadroomDemand demand;
  demand.rate = rate;
  demand.propagation = propagation;
  demand.response_time = response;
  demand.largest_frame = largest;
  return demand;
}

/// A requester whose frames leave at once.
struct RequesterBench {
  explicit RequesterBench(PauseMode mode = PauseMode::kPriority, std::uint16_t quanta = 1000)
      : requester(scheduler, config_of(mode, quanta, Time()), kRate,
                  call<&RequesterBench::frame_due>(this)) {}
  void frame_due() {
    if (!leaves_at_once) return;
    REQUIRE(requester.frame_is_due());
    times.push_back(scheduler.now());
    frames.push_back(requester.take_frame());
    REQUIRE_FALSE(requester.frame_is_due());
  }
  void xoff_at(Time time, std::uint8_t priority) {
    scheduler.at(time, call<&RequesterBench::xoff>(this, priority));
  }
  void xon_at(Time time, std::uint8_t priority) {
    scheduler.at(time, call<&RequesterBench::xon>(this, priority));
  }
  void xoff(std::uint64_t p) { requester.xoff(static_cast<std::uint8_t>(p)); }
  void xon(std::uint64_t p) { requester.xon(static_cast<std::uint8_t>(p)); }

  Scheduler scheduler{"scheduler"};
  bool leaves_at_once = true;
  PauseRequester requester;
  std::vector<Time> times;
  std::vector<PauseFrame> frames;
};

/// A listener that writes down when what is paused changes, seen from outside: at each resume and
/// whenever the test looks.
struct ListenerBench {
  explicit ListenerBench(const PauseConfig& config)
      : listener(scheduler, config, kRate, call<&ListenerBench::resumed>(this)) {}
  void receive_at(Time time, const PauseFrame& frame) {
    frames.push_back(frame);
    scheduler.at(time, call<&ListenerBench::receive>(this, frames.size() - 1));
  }
  void receive(std::uint64_t i) { listener.receive(frames[i]); }
  void resumed() {
    resumes.push_back(scheduler.now());
    left_paused.push_back(listener.paused());
  }
  std::uint8_t paused_at(Time time) {
    scheduler.at(time, call<&ListenerBench::look>(this));
    scheduler.run_until(time);
    return seen;
  }
  void look() { seen = listener.paused(); }
  /// So that daemons run.
  void run_to(Time time) { paused_at(time); }

  Scheduler scheduler{"scheduler"};
  PauseListener listener;
  std::vector<PauseFrame> frames;
  std::vector<Time> resumes;
  std::vector<std::uint8_t> left_paused;
  std::uint8_t seen = 0;
};

}  // namespace

TEST_CASE("the response time of a rate is that of IEEE 802.3 31B.3.7") {
  const std::vector<std::pair<BitRate, std::uint32_t>> rows = {
      {BitRate(10000000), 1},    {BitRate(100000000), 1},   {BitRate::gbps(1), 2},
      {BitRate::gbps(10), 67},   {BitRate::gbps(25), 80},   {BitRate::gbps(40), 118},
      {BitRate::gbps(50), 147},  {BitRate::gbps(100), 394}, {BitRate::gbps(200), 453},
      {BitRate::gbps(400), 905}, {BitRate::gbps(800), 905}, {BitRate::gbps(1600), 905}};
  for (const auto& [rate, quanta] : rows) CHECK(pause_response_quanta(rate) == quanta);
  // Between two rates that of the faster.
  CHECK(pause_response_quanta(BitRate(100000001)) == 2);
  CHECK(pause_response_quanta(BitRate::gbps(56)) == 394);
  CHECK(pause_response_quanta(BitRate(100000000001, 1)) == 453);
  CHECK(pause_response_quanta(BitRate(299999999999, 3)) == 394);
}

TEST_CASE("the response time is quanta of 512 bit times, or what the configuration says") {
  CHECK(pause_response_time({}, BitRate::gbps(100)) == Time::ps(394 * 5120));
  CHECK(pause_response_time({}, BitRate::gbps(10)) == Time::ps(67 * 51200));
  PauseConfig config;
  config.response_time = 100_ns;
  CHECK(pause_response_time(config, BitRate::gbps(100)) == 100_ns);
}

TEST_CASE("XOFF and XON are a frame each, and the state that is there already is none") {
  RequesterBench bench;
  bench.xoff_at(10_ns, 3);
  bench.xoff_at(20_ns, 3);
  bench.xoff_at(30_ns, 5);
  bench.xon_at(40_ns, 3);
  bench.xon_at(50_ns, 3);
  bench.xon_at(60_ns, 5);
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
  REQUIRE(bench.times == std::vector<Time>{10_ns, 30_ns, 40_ns, 60_ns});
  CHECK(bench.frames[0].classes == 1U << 3);
  CHECK(bench.frames[0].quanta[3] == 1000);
  CHECK(bench.frames[1].classes == 1U << 5);
  CHECK(bench.frames[1].quanta[5] == 1000);
  CHECK(bench.frames[2].classes == 1U << 3);
  CHECK(bench.frames[2].quanta[3] == 0);
  CHECK(bench.frames[3].classes == 1U << 5);
  CHECK(bench.frames[3].quanta[5] == 0);
  CHECK_FALSE(bench.requester.any_xoff());
}

TEST_CASE("a class that stays XOFF is repeated at half its timer, and keeps no run alive") {
  RequesterBench bench;
  bench.xoff_at(10_ns, 3);
  bench.scheduler.at(10_us, {[](void*, std::uint64_t) {}, nullptr, 0});
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
  const Time half = kQuantum * 500;
  CHECK(bench.times == std::vector<Time>{10_ns, 10_ns + half, 10_ns + half * 2, 10_ns + half * 3});
  for (const PauseFrame& frame : bench.frames) {
    CHECK(frame.classes == 1U << 3);
    CHECK(frame.quanta[3] == 1000);
  }
  CHECK(bench.requester.is_xoff(3));
}

TEST_CASE("one repetition names all classes that are XOFF, and ends with the last of them") {
  RequesterBench bench;
  const Time half = kQuantum * 500;
  bench.xoff_at(10_ns, 1);
  bench.xoff_at(1_us, 6);
  bench.xon_at(10_ns + half + 1_ns, 1);
  bench.xon_at(10_ns + half * 2 + 1_ns, 6);
  bench.scheduler.at(20_us, {[](void*, std::uint64_t) {}, nullptr, 0});
  bench.scheduler.run_until(1_ms);
  REQUIRE(bench.times == std::vector<Time>{10_ns, 1_us, 10_ns + half, 10_ns + half + 1_ns,
                                           10_ns + half * 2, 10_ns + half * 2 + 1_ns});
  CHECK(bench.frames[2].classes == (1U << 1 | 1U << 6));
  CHECK(bench.frames[4].classes == 1U << 6);
  CHECK(bench.frames[5].quanta[6] == 0);
}

TEST_CASE("what changes while no frame can leave is one frame with the latest state") {
  RequesterBench bench;
  bench.leaves_at_once = false;
  bench.requester.xoff(0);
  bench.requester.xoff(2);
  bench.requester.xon(0);
  REQUIRE(bench.requester.frame_is_due());
  const PauseFrame frame = bench.requester.take_frame();
  CHECK(frame.classes == (1U << 0 | 1U << 2));
  CHECK(frame.quanta == std::array<std::uint16_t, 8>{0, 0, 1000, 0, 0, 0, 0, 0});
  CHECK_FALSE(bench.requester.frame_is_due());
}

TEST_CASE("a global pause stops the link for any class, and ends with the last") {
  RequesterBench bench(PauseMode::kGlobal);
  bench.xoff_at(10_ns, 3);
  bench.xoff_at(20_ns, 4);
  bench.xon_at(30_ns, 3);
  bench.xon_at(40_ns, 4);
  bench.scheduler.run_until(1_ms);
  REQUIRE(bench.times == std::vector<Time>{10_ns, 20_ns, 30_ns, 40_ns});
  const std::vector<std::uint16_t> quanta = {1000, 1000, 1000, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(bench.frames[i].kind == PauseFrame::Kind::kGlobal);
    CHECK(bench.frames[i].classes == 0);
    CHECK(bench.frames[i].quanta[0] == quanta[i]);
  }
}

TEST_CASE("who may not pause never asks for it") {
  RequesterBench bench(PauseMode::kNone);
  bench.requester.xoff(3);
  bench.requester.xon(3);
  CHECK_FALSE(bench.requester.is_xoff(3));
  CHECK_FALSE(bench.requester.frame_is_due());
  CHECK(bench.frames.empty());
}

TEST_CASE("a requester counts frames and the time of XOFF for each class") {
  RequesterBench bench;
  bench.xoff_at(10_ns, 3);
  bench.xon_at(35_ns, 3);
  bench.xoff_at(50_ns, 3);
  bench.xoff_at(60_ns, 7);
  bench.scheduler.at(100_ns, {[](void*, std::uint64_t) {}, nullptr, 0});
  bench.scheduler.run_until(1_us);
  CHECK(test::metrics_of(bench.requester) ==
        std::map<std::string, std::uint64_t>{{"tx_prio3_pause", 3},
                                             {"tx_prio3_pause_duration", 25000 + 50000},
                                             {"tx_prio7_pause", 1},
                                             {"tx_prio7_pause_duration", 40000}});
}

TEST_CASE("a pause begins a response time after its frame and ends when its timer runs out") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1, 100_ns));
  bench.receive_at(10_ns, pfc(1U << 3, 10));
  CHECK(bench.paused_at(110_ns - 1_ps) == 0);
  CHECK(bench.paused_at(110_ns + 1_ps) == 1U << 3);
  CHECK(bench.listener.paused_since(3) == 110_ns);
  CHECK(bench.listener.paused_since(2) == Time::never());
  bench.run_to(1_us);
  CHECK(bench.resumes == std::vector<Time>{110_ns + kQuantum * 10});
  CHECK(bench.listener.paused_since(3) == Time::never());
}

TEST_CASE("XON ends a pause a response time after its frame, and its old timer does no more") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1, 100_ns));
  bench.receive_at(10_ns, pfc(1U << 3, 100));
  bench.receive_at(60_ns, pfc(1U << 3, 0));
  bench.receive_at(90_ns, pfc(1U << 3, 1000));
  CHECK(bench.paused_at(160_ns - 1_ps) == 1U << 3);
  CHECK(bench.paused_at(160_ns + 1_ps) == 0);
  CHECK(bench.paused_at(190_ns - 1_ps) == 0);
  CHECK(bench.paused_at(2_us) == 1U << 3);  // the first timer ran out at 622 ns
  bench.run_to(10_us);
  CHECK(bench.resumes == std::vector<Time>{160_ns, 190_ns + kQuantum * 1000});
}

TEST_CASE("a frame that repeats a pause moves its end, there and back") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1, Time()));
  bench.receive_at(10_ns, pfc(1U << 3, 100));
  bench.receive_at(300_ns, pfc(1U << 3, 100));
  bench.receive_at(400_ns, pfc(1U << 3, 10));
  bench.run_to(10_us);
  CHECK(bench.resumes == std::vector<Time>{400_ns + kQuantum * 10});
  auto metrics = test::metrics_of(bench.listener);
  CHECK(metrics.at("rx_prio3_pause") == 3);
  CHECK(metrics.at("rx_prio3_pause_transition") == 1);
  CHECK(metrics.at("rx_prio3_pause_duration") == 390000 + 51200);
}

TEST_CASE("a frame touches the classes that it names, and those that end together end as one") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1, Time()));
  PauseFrame frame = pfc(0x0e, 50);
  frame.quanta[4] = 100;  // not enabled
  bench.receive_at(10_ns, frame);
  bench.receive_at(20_ns, pfc(1U << 6, 200));
  bench.receive_at(30_ns, pfc(1U << 1, 0));
  CHECK(bench.paused_at(25_ns) == 0x4e);
  CHECK(bench.paused_at(35_ns) == 0x4c);
  bench.run_to(10_us);
  CHECK(bench.resumes == std::vector<Time>{30_ns, 10_ns + kQuantum * 50, 20_ns + kQuantum * 200});
  CHECK(bench.left_paused == std::vector<std::uint8_t>{0x4c, 0x40, 0});
}

TEST_CASE("a global pause stops all classes, and all go on at once") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1, 100_ns));
  bench.receive_at(10_ns, global(1000));
  bench.receive_at(50_ns, global(0));
  CHECK(bench.paused_at(120_ns) == 0xff);
  bench.run_to(1_us);
  CHECK(bench.resumes == std::vector<Time>{150_ns});
  CHECK(bench.left_paused == std::vector<std::uint8_t>{0});
}

TEST_CASE("who does not know pausing counts the frames and sends on") {
  ListenerBench bench(config_of(PauseMode::kNone, 1, Time()));
  bench.receive_at(10_ns, pfc(1U << 3, 1000));
  CHECK(bench.paused_at(1_us) == 0);
  auto metrics = test::metrics_of(bench.listener);
  CHECK(metrics.at("rx_prio3_pause") == 1);
  CHECK(metrics.at("rx_prio3_pause_transition") == 0);
  CHECK(metrics.at("rx_prio3_pause_duration") == 0);
}

TEST_CASE("a pause's timer keeps no run alive, and its time counts while it lasts") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1, 100_ns));
  bench.receive_at(10_ns, pfc(1U << 3, 0xffff));
  CHECK(bench.scheduler.run_until(1_ms) == Scheduler::End::kIdle);
  CHECK(bench.scheduler.now() == 110_ns);
  CHECK(bench.listener.is_paused(3));
  bench.run_to(150_ns);
  CHECK(test::metrics_of(bench.listener).at("rx_prio3_pause_duration") == 40000);
}

TEST_CASE("the longest pause at 100 Gb/s lasts 335.5 us") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1, Time()));
  bench.receive_at(1_us, pfc(1U << 0, 0xffff));
  bench.run_to(1_ms);
  CHECK(bench.resumes == std::vector<Time>{1_us + Time::ps(335539200)});
}

TEST_CASE("what is needed is the waits, the cable, the response and three frames") {
  // 4178 + 84 + 12.5 x (2 x 15 + 100) + 2 x 4158
  CHECK(needed_headroom(demand_of(BitRate::gbps(100), 15_ns, 100_ns, 4158_B)) ==
        Bytes(4178 + 84 + 1625 + 2 * 4158));
  HeadroomDemand demand = demand_of(BitRate::gbps(100), 15_ns, 100_ns, 4158_B);
  demand.latency = 250_ns;
  CHECK(needed_headroom(demand) == Bytes(4178 + 84 + 1625 + 3125 + 2 * 4158));
}

TEST_CASE("what is needed grows by two bytes times of the cable a metre") {
  const auto at = [](std::uint64_t metres) {
    return needed_headroom(
               demand_of(BitRate::gbps(100), Length::m(metres).propagation(), 100_ns, 4158_B))
        .count();
  };
  CHECK(at(200) - at(100) == 100 * 125);
}

TEST_CASE("packets that fill their cells badly need more") {
  HeadroomDemand demand = demand_of(BitRate::gbps(100), 100_ns, 800_ns, 4158_B);
  demand.cell = 208_B;
  // 64 B in 208 for each 84 B of the wire, one more that lies across, and two frames of 20 cells.
  const std::uint64_t wire = 4178 + 84 + 12500;
  CHECK(needed_headroom(demand) == Bytes(wire * 208 / 84 + 208 + 2 * 4160));
  demand.cell = 96_B;  // now 97 B in 192 are the worst
  CHECK(needed_headroom(demand) == Bytes(wire * 192 / 117 + 192 + 2 * 4224));
}

TEST_CASE("a jammed class stays XOFF whatever the buffer says, and then is what the buffer says") {
  RequesterBench bench;
  const auto at = [&](Time time) {
    bench.scheduler.at(time, {[](void*, std::uint64_t) {}, nullptr, 0});
    bench.scheduler.run_until(time);
  };
  bench.requester.jam(3);
  at(10_ns);
  bench.requester.xoff(3);
  bench.requester.xon(3);
  CHECK(bench.requester.is_xoff(3));
  CHECK(bench.frames.size() == 1);
  bench.requester.let_go(3);
  CHECK_FALSE(bench.requester.is_xoff(3));
  REQUIRE(bench.frames.size() == 2);
  CHECK(bench.frames[1].quanta[3] == 0);
  bench.requester.xoff(3);
  bench.requester.jam(3);
  bench.requester.let_go(3);
  CHECK(bench.requester.is_xoff(3));
  CHECK(bench.frames.size() == 3);
}

TEST_CASE("a silenced class goes on at once and asks for nothing any more") {
  RequesterBench bench;
  bench.requester.jam(3);
  bench.requester.silence(3);
  CHECK_FALSE(bench.requester.is_xoff(3));
  bench.requester.xoff(3);
  bench.requester.xoff(4);
  CHECK_FALSE(bench.requester.is_xoff(3));
  REQUIRE(bench.frames.size() == 3);
  CHECK(bench.frames[1].classes == 1U << 3);
  CHECK(bench.frames[1].quanta[3] == 0);
  CHECK(bench.frames[2].classes == 1U << 4);
}

TEST_CASE("a listener knows its longest pause, those that are refreshed and the present one too") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1000, Time()));
  bench.receive_at(10_us, pfc(1U << 3, 1000));  // 5.12 us
  bench.receive_at(12_us, pfc(1U << 3, 1000));
  bench.receive_at(20_us, pfc(1U << 3, 100));
  bench.run_to(30_us);
  CHECK(bench.listener.longest(3).since == 10_us);
  CHECK(bench.listener.longest(3).lasted == Time::ns(7120));
  CHECK(bench.listener.longest(4).lasted == Time());
  CHECK(bench.listener.last_stop(3) == 20_us);
  bench.receive_at(40_us, pfc(1U << 3, 10000));
  bench.run_to(60_us);
  CHECK(bench.listener.longest(3).since == 40_us);
  CHECK(bench.listener.longest(3).lasted == 20_us);
}

TEST_CASE("a class that is ignored goes on at once, and frames of it stop nothing") {
  ListenerBench bench(config_of(PauseMode::kPriority, 1000, Time()));
  bench.receive_at(1_us, pfc(1U << 3 | 1U << 4, 1000));
  bench.run_to(2_us);
  bench.listener.ignore(3, true);
  CHECK(bench.resumes == std::vector<Time>{2_us});
  CHECK(bench.listener.paused() == 1U << 4);
  bench.receive_at(3_us, pfc(1U << 3, 1000));
  CHECK(bench.paused_at(4_us) == 1U << 4);
  CHECK(bench.listener.last_stop(3) == 3_us);
  bench.listener.ignore(3, false);
  bench.receive_at(5_us, pfc(1U << 3, 1000));
  CHECK(bench.paused_at(6_us) == (1U << 3 | 1U << 4));
}
