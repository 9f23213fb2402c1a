// SPDX-License-Identifier: MIT
// Two leaves, two spines, a host at each leaf; a cable between a leaf and a spine fails.
#include "fabric/link_failures.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "tests/fabric/topology_kit.h"
#include "tests/support/fake_end.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/switch_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using namespace rnicsim::testing;
using test::FakeEnd;
using test::SwitchBench;

namespace {

const char* const kLeafSpine =
    R"({"topology": "leaf_spine", "leaf_spine": {"leaves": 2, "spines": 2}})";
constexpr std::uint32_t kPayload = 256;

LinkFailure failure_of_spine1() {
  LinkFailure failure;
  failure.link = "leaf0-spine1";
  failure.at = 20_us;
  failure.until = 60_us;
  failure.detection = 5_us;
  failure.convergence = 10_us;
  return failure;
}

FabricConfig fabric_config(PathChoice choice, std::vector<LinkFailure> failures, Length length) {
  FabricConfig config;
  config.switch_link.length = length;
  config.failures = std::move(failures);
  SwitchConfig each;
  each.path_choice = choice;
  config.switches.assign(4, each);
  return config;
}

/// Host 0 at leaf0, host 1 at leaf1. A packet enters its second cable 0.3 us after it was sent, and
/// its third another 0.3 us and the second cable's delay later.
struct LeafSpine {
  explicit LeafSpine(std::vector<LinkFailure> failures, PathChoice choice = PathChoice::kEcmp,
                     Length length = Length::m(3))
      : topology(topology_of(kLeafSpine, 2)),
        fabric({scheduler, pool, 1}, topology, fabric_config(choice, std::move(failures), length),
               {Time(), Time()}) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      ends.push_back(
          std::make_unique<FakeEnd>(scheduler, pool, i + 1, BitRate::gbps(100), PauseConfig{}));
      ends[i]->connect(fabric.entry(i));
      fabric.connect(i, *ends[i]);
    }
  }

  /// Also if nothing is left to do until then.
  void go_to(Time time) {
    scheduler.at(time, call<&LeafSpine::nothing>(this));
    scheduler.run_until(time);
  }
  void nothing() {}
  FakeEnd::Flow flow(std::uint32_t from, std::uint16_t port) const {
    return {2 - from, 1, kPayload, 3, port};
  }
  /// Packets that leaves have sent to spine1.
  std::uint64_t to_spine1() {
    const std::uint32_t spine = node_of(topology, "spine1");
    std::uint64_t sent = 0;
    for (std::uint32_t port = 0; port < 2; ++port) {
      const PortRef leaf = topology.peer({spine, port});
      sent += fabric.at(leaf.node - topology.end_points())
                  .port_totals(static_cast<std::uint16_t>(leaf.port))
                  .sent_packets;
    }
    return sent;
  }
  /// A source port whose flow from host `from` takes spine1.
  std::uint16_t port_by_spine1(std::uint32_t from) {
    for (std::uint16_t port = 0xc000; port < 0xc020; ++port) {
      const std::uint64_t before = to_spine1();
      ends[from]->send(ends[from]->make(flow(from, port)));
      go_to(scheduler.now() + 1_us);
      if (to_spine1() != before) return port;
    }
    FAIL("no flow takes spine1");
    return 0;
  }
  /// One packet each microsecond, numbered by it; those that have not come by 40 us after the last.
  std::vector<std::uint32_t> lost(std::uint32_t from, std::uint16_t port, std::uint32_t first,
                                  std::uint32_t last) {
    ends[1 - from]->arrivals.clear();
    for (std::uint32_t us = first; us <= last; ++us) {
      go_to(Time::us(us));
      FakeEnd::Flow now = flow(from, port);
      now.sent = us;
      ends[from]->send(ends[from]->make(now));
    }
    go_to(scheduler.now() + 40_us);
    std::vector<std::uint32_t> missing;
    for (std::uint32_t us = first; us <= last; ++us) {
      bool has_come = false;
      for (const auto& arrival : ends[1 - from]->arrivals) has_come |= arrival.psn == us;
      if (!has_come) missing.push_back(us);
    }
    return missing;
  }
  std::uint64_t metric(const std::string& path) {
    test::MetricRecorder recorder;
    fabric.report(recorder);
    return recorder.values.at(path);
  }

  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  Topology topology;
  Fabric fabric;
  std::vector<std::unique_ptr<FakeEnd>> ends;
};

std::vector<std::uint32_t> numbers(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = first; i <= last; ++i) all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("the switch at a dead link takes its other ways as soon as it has noticed") {
  LeafSpine net({failure_of_spine1()});
  const std::uint16_t port = net.port_by_spine1(0);
  CHECK(net.lost(0, port, 17, 35) == numbers(20, 24));
  CHECK(net.metric("fabric.failures.0.links") == 1);
  CHECK(net.metric("fabric.failures.0.lost") == 5);
  CHECK(net.metric("fabric.failures.0.dropped") == 0);
  CHECK(net.fabric.idle());
}

TEST_CASE("switches further away send into the dead end until the routes have converged") {
  LeafSpine net({failure_of_spine1()});
  const std::uint16_t port = net.port_by_spine1(1);
  CHECK(net.lost(1, port, 17, 35) == numbers(20, 29));
  CHECK(net.metric("fabric.failures.0.lost") == 5);
  // From 25 us on spine1 knows that it has no way to leaf0.
  CHECK(net.metric("fabric.spine1.port1.rx_no_route") == 5);
  CHECK(net.fabric.dropped_packets() == 5);
  CHECK(net.fabric.disturbed_packets() == 5);
}

TEST_CASE("a link that is back is used again when the routes have converged, and nothing is lost") {
  LeafSpine net({failure_of_spine1()});
  const std::uint16_t port = net.port_by_spine1(1);
  net.go_to(50_us);
  const std::uint64_t before = net.to_spine1();
  CHECK(net.lost(1, port, 50, 69).empty());
  CHECK(net.to_spine1() == before);
  CHECK(net.lost(1, port, 110, 119).empty());
  CHECK(net.to_spine1() == before + 10);
}

TEST_CASE("what is on the cable when it fails is lost") {
  LeafSpine net({failure_of_spine1()}, PathChoice::kEcmp, Length::m(1000));  // 5 us
  const std::uint16_t port = net.port_by_spine1(0);
  CHECK(net.lost(0, port, 12, 35) == numbers(15, 24));
}

TEST_CASE("spraying loses what it sends into the dead link only") {
  LeafSpine net({failure_of_spine1()}, PathChoice::kSpray);
  const std::vector<std::uint32_t> lost = net.lost(0, 0xc000, 1, 50);
  CHECK(lost.size() == net.metric("fabric.failures.0.lost"));
  REQUIRE_FALSE(lost.empty());
  CHECK(lost.front() >= 20);
  CHECK(lost.back() <= 24);
}

TEST_CASE("a link that fails twice at once is up when both failures are over") {
  LinkFailure second = failure_of_spine1();
  second.link = "spine1-leaf*";
  second.at = 30_us;
  second.until = 80_us;
  LeafSpine net({failure_of_spine1(), second});
  const std::uint16_t port = net.port_by_spine1(0);
  net.go_to(75_us);
  const std::uint64_t before = net.to_spine1();
  CHECK(net.lost(0, port, 75, 89).empty());
  CHECK(net.to_spine1() == before);
  CHECK(net.lost(0, port, 130, 134).empty());
  CHECK(net.to_spine1() == before + 5);
  CHECK(net.metric("fabric.failures.1.links") == 2);
}

TEST_CASE("a host whose cable is dead cannot be reached, and the run ends all the same") {
  LinkFailure cut = failure_of_spine1();
  cut.link = "h1-*";
  cut.until = std::nullopt;
  LeafSpine net({cut});
  CHECK(net.lost(0, 0xc000, 18, 40) == numbers(20, 40));
  CHECK(net.scheduler.run_until(Time::s(1)) == Scheduler::End::kIdle);
  CHECK(net.fabric.idle());
}

TEST_CASE("what waits for a dead port is dropped, and its memory is free again") {
  SwitchBench bench(SwitchConfig{});
  bench.ends[1].requester().xoff(3);
  bench.scheduler.run_until(10_us);
  bench.ends[0].start({2, 20, 4096});
  bench.scheduler.run_until(20_us);
  CHECK(bench.the_switch.set_port_up(1, false) == 20);
  CHECK(bench.the_switch.buffer().occupied() == Bytes(0));
  CHECK(bench.the_switch.taken_bytes() == bench.the_switch.given_bytes());
  CHECK(bench.the_switch.idle());
  bench.ends[0].start({2, 3, 4096});
  bench.scheduler.run_until(30_us);
  CHECK(bench.metric("port0.rx_no_route") == 3);
  CHECK(bench.ends[1].received_packets == 0);
}

TEST_CASE("a port that is back tells its other end again what must stop") {
  SwitchConfig config;
  config.buffer.size = 512_KiB;
  SwitchBench bench(config);
  bench.ends[2].requester().xoff(3);
  bench.scheduler.run_until(10_us);
  bench.ends[0].start({3, 1000, 4096});
  bench.scheduler.run_until(100_us);
  REQUIRE(bench.the_switch.egress(0).requester().is_xoff(3));
  bench.the_switch.set_port_up(0, false);
  const std::uint64_t before = bench.ends[0].pauses_received;
  bench.the_switch.set_port_up(0, true);
  bench.scheduler.run_until(bench.scheduler.now() + 1_us);
  CHECK(bench.ends[0].pauses_received == before + 1);
}
