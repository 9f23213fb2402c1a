// SPDX-License-Identifier: MIT
// One switch with a fake end at each port, the i-th with the addresses of end point i + 1, and a
// cable between. check_conservation() holds what each port took in against what it gave out.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "fabric/link.h"
#include "fabric/routes.h"
#include "fabric/switch.h"
#include "fabric/topology.h"
#include "model/scheduler.h"
#include "tests/support/fake_end.h"
#include "tests/support/metric_recorder.h"

namespace rnicsim::test {

struct Cable {
  BitRate rate = BitRate::gbps(100);
  Length length = Length::m(3);
};

/// Counts the pause frames that pass each port.
struct PauseTap : PacketTap {
  explicit PauseTap(std::size_t ports) : inbound(ports, 0), outbound(ports, 0) {}
  void packet(std::uint32_t port, const Packet& packet, Time, PacketDirection direction,
              const char*) override {
    if (packet.kind != FrameKind::kPause) return;
    ++(direction == PacketDirection::kInbound ? inbound : outbound)[port];
  }
  std::vector<std::uint64_t> inbound;
  std::vector<std::uint64_t> outbound;
};

struct SwitchBench {
  static constexpr Bytes kLargestFrame{4158};

  explicit SwitchBench(const SwitchConfig& config, const std::vector<Cable>& cables = {{}, {}, {}})
      : tap(cables.size()),
        the_switch("switch", {scheduler, pool, 7, 1}, config, setups(cables, config.egress.pause)) {
    for (std::uint16_t i = 0; i < the_switch.ports(); ++i) {
      LinkConfig link;
      link.rate = cables[i].rate;
      link.length = cables[i].length;
      up.emplace_back(scheduler, link, 2U * i);
      down.emplace_back(scheduler, link, 2U * i + 1);
      ends.emplace_back(scheduler, pool, i + 1U, cables[i].rate, config.egress.pause);
      ends[i].connect(up[i]);
      up[i].connect(the_switch.port(i));
      the_switch.connect(i, down[i]);
      down[i].connect(ends[i]);
      the_switch.attach_tap(i, &tap, i);
    }
    route(star(cables.size()));
  }
  /// Each end point, "e1" and so on, at a port of one switch.
  static Topology star(std::size_t end_points) {
    Topology topology(end_names(end_points));
    const std::uint32_t node = topology.add_switch("s", 1);
    for (std::uint32_t i = 0; i < end_points; ++i) topology.connect(i, node, LinkClass::kHost);
    return topology;
  }
  static std::vector<std::string> end_names(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 1; i <= count; ++i) names.push_back("e" + std::to_string(i));
    return names;
  }
  /// The ways of the topology's first switch, whatever is plugged in here.
  void route(const Topology& topology) {
    routes.emplace(topology);
    the_switch.set_routes(*routes, topology.end_points(), topology.end_points());
  }
  /// Port 0 to end point 1, all others to end point 2, by way of another switch.
  void route_all_ways_to_2() {
    Topology topology(end_names(2));
    const std::uint32_t here = topology.add_switch("s", 1);
    const std::uint32_t there = topology.add_switch("t", 1);
    topology.connect(0, here, LinkClass::kHost);
    topology.connect(1, there, LinkClass::kHost);
    for (std::size_t i = 1; i < ends.size(); ++i) topology.connect(here, there, LinkClass::kFabric);
    route(topology);
  }
  static std::vector<SwitchPortSetup> setups(const std::vector<Cable>& cables,
                                             const PauseConfig& pause) {
    std::vector<SwitchPortSetup> setups;
    setups.reserve(cables.size());
    for (const Cable& cable : cables)
      setups.push_back({cable.rate, cable.length.propagation(), kLargestFrame,
                        pause_response_time(pause, cable.rate)});
    return setups;
  }

  /// Every frame that a port's cables carried is counted at both of their ends, and what the switch
  /// took in has left it, was dropped or is in its memory.
  void check_conservation() {
    std::uint64_t held = 0;
    Bytes held_bytes;
    for (std::uint16_t i = 0; i < the_switch.ports(); ++i) {
      CAPTURE(i);
      const Switch::Totals totals = the_switch.port_totals(i);
      const FakeEnd& end = ends[i];
      CHECK(totals.received_packets == end.sent_packets + end.pauses_sent);
      CHECK(totals.received_bytes == end.sent_bytes + kMinFrameBytes * end.pauses_sent);
      CHECK(totals.sent_packets == end.received_packets + end.pauses_received);
      CHECK(totals.sent_bytes == end.received_bytes + kMinFrameBytes * end.pauses_received);
      CHECK(up[i].entered_bytes() == totals.received_bytes);
      CHECK(up[i].left_bytes() == totals.received_bytes);
      CHECK(down[i].entered_bytes() == totals.sent_bytes);
      CHECK(down[i].left_bytes() == totals.sent_bytes);
      CHECK(tap.inbound[i] == end.pauses_sent);
      CHECK(tap.outbound[i] == end.pauses_received);
      held += end.sent_packets - end.received_packets - totals.dropped_packets;
      held_bytes += end.sent_bytes;
      held_bytes -= end.received_bytes;
      held_bytes -= totals.dropped_bytes;
    }
    CHECK(the_switch.taken_bytes() - the_switch.given_bytes() == held_bytes);
    if (held == 0) {
      CHECK(held_bytes == Bytes(0));
      CHECK(the_switch.buffer().occupied() == Bytes(0));
      CHECK(the_switch.idle());
    } else {
      CHECK(held_bytes <= the_switch.buffer().occupied());
      CHECK_FALSE(the_switch.idle());
    }
  }
  std::uint64_t metric(const std::string& name) {
    MetricRecorder recorder;
    the_switch.report(MetricScope(recorder, "s"));
    return recorder.values.at("s." + name);
  }

  Scheduler scheduler{"scheduler"};
  PacketPool pool;
  PauseTap tap;
  Switch the_switch;
  std::deque<LinkDirection> up;
  std::deque<LinkDirection> down;
  std::deque<FakeEnd> ends;
  std::optional<Routes> routes;
};

}  // namespace rnicsim::test
