// SPDX-License-Identifier: MIT
// Priority-based flow control through a switch: two senders into one receiver, the headroom that it
// takes, pauses that travel on, and a cycle of them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "model/invariant.h"
#include "tests/support/own_process.h"
#include "tests/support/switch_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::Cable;
using test::SwitchBench;

namespace {

constexpr std::int64_t kFrame = 4158;
constexpr Time kResponse = Time::ns(500);

/// Pauses at 100 KiB, on 30 cycles of 1 GHz.
SwitchConfig lossless_switch(std::optional<Bytes> headroom = std::nullopt) {
  SwitchConfig config;
  config.latency = 30_cycles;
  config.buffer.size = 16_MiB;
  config.buffer.model = BufferModel::kStatic;
  config.buffer.threshold = 100_KiB;
  config.egress.pause.response_time = kResponse;
  config.headroom = headroom;
  return config;
}

std::vector<Cable> four(Length length) {
  return std::vector<Cable>(4, Cable{BitRate::gbps(100), length});
}

/// Ends 1 and 2 send to 3, which stops and lets go time and again: while it stops, nothing leaves
/// the memory that fills. What 3 and 4 send to 2 and 1 makes pause frames wait.
struct Incast : SwitchBench {
  Incast(const SwitchConfig& config, Length length, std::uint64_t count,
         std::uint32_t payload = 4096, BitRate rate_of_4 = BitRate::gbps(100))
      : SwitchBench(config, cables(length, rate_of_4)),
        packets(count),
        stop_for(length.propagation() * 4 + Time::ns(30011)) {
    ends[0].start({3, packets, payload});
    ends[1].start({3, packets, payload});
    ends[2].start({2, packets * 3, payload});
    ends[3].start({1, packets * 3, payload});
    for (auto& end : ends) end.keeps = false;
    scheduler.at(stop_for, call<&Incast::toggle>(this));
  }
  static std::vector<Cable> cables(Length length, BitRate rate_of_4) {
    std::vector<Cable> cables = four(length);
    cables[3].rate = rate_of_4;
    return cables;
  }
  void toggle() {
    PauseRequester& receiver = ends[2].requester();
    receiver.is_xoff(3) ? receiver.xon(3) : receiver.xoff(3);
    if (!all_received()) scheduler.at(scheduler.now() + stop_for, call<&Incast::toggle>(this));
  }
  bool all_received() const { return ends[2].received_packets == packets * 2; }

  std::uint64_t packets;
  Time stop_for;
};

/// The most headroom that is taken when there is more than enough: what it takes to lose nothing.
std::int64_t smallest_headroom(Length length, std::uint64_t packets) {
  const std::string text = test::in_own_process([length, packets] {
    Incast bench(lossless_switch(2_MiB), length, packets);
    bench.scheduler.run_until(1000_ms);
    bench.check_conservation();
    return std::to_string(std::max(bench.metric("port0.prio3.headroom.occupancy.max"),
                                   bench.metric("port1.prio3.headroom.occupancy.max")));
  });
  INFO(text);
  return std::stoll(text);
}

/// Cable both ways and response time, in bytes at 100 Gb/s.
std::int64_t round_trip_bytes(Length length) {
  return (length.propagation() * 2 + kResponse).ps() / 80;
}

/// What a run of `packets` from each of two senders comes to: "lost nothing", or the exception.
std::string outcome(const SwitchConfig& config, Length length, std::uint64_t packets,
                    std::uint32_t payload = 4096, BitRate rate_of_4 = BitRate::gbps(100)) {
  return test::in_own_process([&] {
    Incast bench(config, length, packets, payload, rate_of_4);
    try {
      bench.scheduler.run_until(1000_ms);
    } catch (const InvariantBroken& broken) {
      return broken.kind() + ": " + broken.what();
    }
    const bool all =
        bench.all_received() && bench.the_switch.idle() && bench.ends[0].pauses_received > 1;
    return std::string(all ? "lost nothing" : "not all has arrived");
  });
}

}  // namespace

TEST_CASE("two senders into one receiver lose nothing, share evenly and fill the link") {
  SwitchBench bench(lossless_switch(), four(Length::m(3)));
  for (std::uint16_t i = 0; i < 2; ++i) bench.ends[i].start({3, 2000});
  CHECK(bench.scheduler.run_until(100_ms) == Scheduler::End::kIdle);
  bench.check_conservation();
  const auto& arrivals = bench.ends[2].arrivals;
  REQUIRE(arrivals.size() == 4000);
  std::vector<std::uint32_t> next(3, 0);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    CHECK(arrivals[i].psn == next[arrivals[i].from]++);
    if (i < 3000) CHECK(std::abs(static_cast<int>(next[1]) - static_cast<int>(next[2])) <= 60);
  }
  // Never a gap on the last cable: 4178 B at 80 ps each.
  CHECK(arrivals.back().tail - arrivals.front().tail == Time::ps(334240) * 3999);
  for (std::uint16_t i = 0; i < 2; ++i) {
    CHECK(bench.ends[i].pauses_received > 2);
    CHECK(bench.metric("port" + std::to_string(i) + ".tx_prio3_pause") ==
          bench.ends[i].pauses_received);
  }
  CHECK(bench.ends[2].pauses_received == 0);
}

TEST_CASE("the smallest headroom is cable both ways, response and two frames, within a frame") {
  for (const std::uint64_t metres : {3, 40, 100, 300, 1000}) {
    const std::int64_t needed = smallest_headroom(Length::m(metres), 4000);
    CAPTURE(metres, needed, round_trip_bytes(Length::m(metres)));
    CHECK(std::abs(needed - round_trip_bytes(Length::m(metres)) - 2 * kFrame) <= kFrame);
  }
}

TEST_CASE("the smallest headroom grows with the cable by twice its bytes, within 5 %") {
  const std::int64_t near = smallest_headroom(Length::m(300), 4000);
  const std::int64_t far = smallest_headroom(Length::m(3000), 8000);
  const double slope = static_cast<double>(far - near) / 2700;
  CHECK(slope > 125 * 0.95);
  CHECK(slope < 125 * 1.05);
}

TEST_CASE("with the smallest headroom 100,000 packets lose nothing, with a frame less one is lost",
          "[long]") {
  const Length length = Length::m(100);
  const auto smallest = static_cast<std::uint64_t>(smallest_headroom(length, 50000));
  CHECK(outcome(lossless_switch(Bytes(smallest)), length, 50000) == "lost nothing");
  const std::string less = outcome(lossless_switch(Bytes(smallest - kFrame)), length, 50000);
  CHECK(less.find("lossless_drop: switch.port") == 0);
  CHECK(less.find("a packet of lossless priority 3 finds no room: the headroom is ") !=
        std::string::npos);
  CHECK(less.find(std::to_string(smallest) + " B are needed by now") != std::string::npos);
}

TEST_CASE("the headroom that a switch gives itself loses nothing, whatever the packets' size") {
  for (const std::uint32_t payload : {4096, 1024, 147, 148, 2, 0})
    CHECK(outcome(lossless_switch(), Length::m(100), 6000 + 2000000 / (payload + 62), payload) ==
          "lost nothing");
}

TEST_CASE("the headroom that a switch gives itself is enough for a full pool") {
  SwitchConfig config = lossless_switch();
  config.buffer.model = BufferModel::kDynamic;
  config.buffer.alpha = 64;
  config.buffer.size = 1_MiB;
  CHECK(outcome(config, Length::m(100), 5000) == "lost nothing");
}

TEST_CASE("the headroom that a switch gives itself is enough where pauses wait for a pipeline") {
  SwitchConfig config = lossless_switch();
  config.latency = 5000_cycles;
  CHECK(outcome(config, Length::m(100), 2000, 4096, BitRate::gbps(1)) == "lost nothing");
}

TEST_CASE("the headroom that a switch gives itself is enough when it cuts through") {
  SwitchConfig config = lossless_switch();
  config.cut_through = true;
  CHECK(outcome(config, Length::m(100), 5000) == "lost nothing");
}

TEST_CASE("a pause of the whole link loses nothing either") {
  SwitchConfig config = lossless_switch();
  config.egress.pause.mode = PauseMode::kGlobal;
  SwitchBench bench(config, four(Length::m(100)));
  for (std::uint16_t i = 0; i < 2; ++i) {
    bench.ends[i].start({3, 1000});
    bench.ends[i].start({4, 1000, 1024, 1});  // a victim of another priority
  }
  CHECK(bench.scheduler.run_until(100_ms) == Scheduler::End::kIdle);
  bench.check_conservation();
  CHECK(bench.ends[2].received_packets == 2000);
  CHECK(bench.ends[3].received_packets == 2000);
  CHECK(bench.ends[0].pauses_received > 0);
}

TEST_CASE("a pause of one priority leaves the others alone") {
  SwitchBench bench(lossless_switch(), four(Length::m(3)));
  bench.ends[2].requester().xoff(3);
  bench.scheduler.run_until(10_us);
  bench.ends[0].start({3, 100});           // all of it is held up, in the end at home
  bench.ends[0].start({3, 100, 1024, 1});  // to the same receiver
  bench.scheduler.run_until(100_us);
  CHECK(bench.ends[2].received_packets == 100);
  CHECK(bench.ends[0].sent_packets < 200);
  bench.check_conservation();
}

TEST_CASE("an egress that is paused fills the switch, which pauses its senders, and all goes on") {
  SwitchBench bench(lossless_switch(), four(Length::m(3)));
  bench.ends[2].requester().xoff(3);
  bench.scheduler.run_until(10_us);
  bench.ends[0].start({3, 200});
  bench.ends[1].start({3, 200});
  bench.scheduler.run_until(150_us);
  CHECK(bench.ends[2].received_packets == 0);
  CHECK(bench.the_switch.egress(2).held_up() == 1U << 3);
  bench.check_conservation();
  for (std::uint16_t i = 0; i < 2; ++i) {
    CHECK(bench.ends[i].pauses_received == 1);
    CHECK(bench.ends[i].listener().is_paused(3));
    CHECK(bench.ends[i].sent_packets > 100 * 1024 / kFrame);
    CHECK(bench.ends[i].sent_packets < 100 * 1024 / kFrame + 10);
  }
  bench.ends[2].requester().xon(3);
  CHECK(bench.scheduler.run_until(10_ms) == Scheduler::End::kIdle);
  CHECK(bench.ends[2].received_packets == 400);
  bench.check_conservation();
}

TEST_CASE(
    "a pause that is repeated outlasts its timer, and ends with it when no more frames come") {
  SwitchConfig config = lossless_switch();
  config.egress.pause.quanta = 2000;  // 10.24 us
  SwitchBench bench(config, four(Length::m(3)));
  bench.ends[2].requester().xoff(3);
  bench.scheduler.run_until(5_us);
  bench.ends[0].start({3, 3});
  const auto run_to = [&](Time time) {
    bench.scheduler.at(time, {[](void*, std::uint64_t) {}, nullptr, 0});
    bench.scheduler.run_until(time);
  };
  run_to(100_us);
  CHECK(bench.ends[2].received_packets == 0);
  CHECK(bench.ends[2].pauses_sent == 20);  // at 0, 5.12, ... 97.28 us
  bench.ends[2].requester().xon(3);
  run_to(102_us);
  CHECK(bench.ends[2].received_packets == 3);
  bench.check_conservation();
}

namespace {

/// Two bridges, an end at each, and each thinks that end point 3 is behind the other.
struct Loop {
  explicit Loop(const SwitchConfig& config)
      : a("a", {scheduler, pool, 1, 1}, config, setups(config)),
        b("b", {scheduler, pool, 2, 1}, config, setups(config)) {
    for (std::uint32_t i = 0; i < 6; ++i) links.emplace_back(scheduler, LinkConfig{}, i);
    for (std::uint32_t i = 0; i < 2; ++i) {
      Switch& here = i == 0 ? a : b;
      Switch& there = i == 0 ? b : a;
      ends.emplace_back(scheduler, pool, i + 1, BitRate::gbps(100), config.egress.pause);
      ends[i].connect(links[3 * i]);
      links[3 * i].connect(here.port(0));
      here.connect(0, links[3 * i + 1]);
      links[3 * i + 1].connect(ends[i]);
      here.connect(1, links[3 * i + 2]);
      links[3 * i + 2].connect(there.port(1));
      here.set_routes(routes, 3, 3);
    }
  }
  static std::vector<SwitchPortSetup> setups(const SwitchConfig& config) {
    const BitRate rate = BitRate::gbps(100);
    return std::vector<SwitchPortSetup>(2, {rate, LinkConfig{}.length.propagation(), Bytes(4158),
                                            pause_response_time(config.egress.pause, rate)});
  }
  static Topology view() {
    Topology topology(SwitchBench::end_names(3));
    const std::uint32_t node = topology.add_switch("s", 1);
    topology.connect(0, node, LinkClass::kHost);
    topology.connect(2, node, LinkClass::kHost);
    return topology;
  }
  Routes routes{view()};
  Scheduler scheduler{"scheduler"};
  PacketPool pool;
  Switch a;
  Switch b;
  std::deque<LinkDirection> links;
  std::deque<test::FakeEnd> ends;
};

}  // namespace

TEST_CASE("two switches that wait for each other hold their packets as long as the run lasts") {
  SwitchConfig config = lossless_switch();
  config.forwarding = Forwarding::kBridged;
  Loop loop(config);
  loop.ends[0].start({3, 1000});
  loop.ends[1].start({3, 1000});
  CHECK(loop.scheduler.run_until(100_ms) == Scheduler::End::kReached);
  for (Switch* each : {&loop.a, &loop.b}) {
    CHECK_FALSE(each->idle());
    CHECK(each->egress(1).held_up() == 1U << 3);
    CHECK(each->egress(1).requester().is_xoff(3));
    CHECK(each->egress(0).requester().is_xoff(3));
    CHECK(each->port_totals(0).dropped_packets == 0);
    CHECK(each->port_totals(1).dropped_packets == 0);
  }
  std::uint64_t sent = 0;
  for (auto& end : loop.ends) {
    CHECK(end.listener().is_paused(3));
    CHECK(end.sent_packets < 1000);
    sent += end.sent_packets;
  }
  for (const LinkDirection& link : loop.links) CHECK(link.in_flight() == 0);
  CHECK(loop.a.buffer().occupied() + loop.b.buffer().occupied() == Bytes(sent * 20 * 208));
}
