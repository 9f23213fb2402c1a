// SPDX-License-Identifier: MIT
#include "host/control_channel.h"

#include <catch2/catch.hpp>

#include "tests/support/metric_recorder.h"
#include "tests/support/software_host.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::SoftwareHost;

TEST_CASE("Messages arrive in order, each one latency after it was sent") {
  SoftwareHost host;
  CpuCore other(host.scheduler, test::one_gigahertz(), host.usage);
  FixedControlChannel channel(host.scheduler, 20_us);
  test::ProbeRecorder probes;
  channel.probe().attach(&probes, 7);
  host.start([&](CpuTask& task) {
    task.charge(CpuPlane::kControl, CpuCategory::kApplication, 1000_cycles);
    channel.send(task, {1, 2, 3});
    task.charge(CpuPlane::kControl, CpuCategory::kApplication, 500_cycles);
    channel.send(task, {4});
    task.sleep_until(100_us);
    channel.send(task, {5});
  });
  host.start_on(other, [&](CpuTask& task) {
    REQUIRE(channel.receive(task) == ControlMessage{1, 2, 3});
    REQUIRE(host.scheduler.now() == 21_us);
    task.sleep_until(50_us);
    REQUIRE(channel.receive(task) == ControlMessage{4});
    REQUIRE(host.scheduler.now() == 50_us);
    REQUIRE(channel.receive(task) == ControlMessage{5});
    REQUIRE(host.scheduler.now() == 120_us);
  });
  REQUIRE(host.run());
  REQUIRE(other.busy() == 0_ns);
  auto metrics = test::metrics_of(channel);
  REQUIRE(metrics.at("messages") == 3);
  REQUIRE(metrics.at("occupancy.max") == 2);
  REQUIRE(probes.records.size() == 3);
  REQUIRE(probes.records[1].kind == ProbeKind::kControlMessage);
  REQUIRE(probes.records[1].time == 21500_ns);
  REQUIRE(probes.records[1].a == 1500000);
  REQUIRE(probes.records[1].b == 1);
}
