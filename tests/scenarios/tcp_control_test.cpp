// SPDX-License-Identifier: MIT
// Control channels over TCP: two programs on two whole hosts, and workloads that use them.
#include "scenarios/engine/tcp_control.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/engine/programs.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/probe_recorder.h"
#include "tests/support/scenario_text.h"
#include "tests/support/simulated_run.h"
#include "tests/support/two_servers.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

WorkloadSpec over_tcp() {
  WorkloadSpec spec;
  spec.name = "w0";
  spec.from = "A";
  spec.to = "B";
  spec.control = ControlKind::kTcp;
  spec.control_port = 18515;
  return spec;
}

struct Control {
  using Program = std::function<void(CpuTask&, ControlPath&)>;
  explicit Control(bool elided = false) : system("system", scenario(elided)) {
    ControlPath::Setting setting;
    setting.elided = elided;
    setting.observer = &probes;
    path = ControlPath::make(system, spec, setting);
    system.attach(&probes);
  }
  /// True if both came to their ends.
  bool run(const Program& client, const Program& server) {
    b.start(system.server("B").host->core(0), "server", [&](CpuTask& task) {
      path->accept(task);
      server(task, *path);
      path->leave(task, "B");
    });
    a.start(system.server("A").host->core(0), "client", [&](CpuTask& task) {
      path->connect(task);
      client(task, *path);
      path->leave(task, "A");
    });
    end = system.scheduler().run_until(Time::s(1));
    return a.finished() && b.finished();
  }
  std::uint64_t sum_of(const std::string& path_of_metric) {
    test::MetricRecorder metrics;
    system.report(metrics);
    return metrics.values.at(path_of_metric);
  }

  test::ProbeRecorder probes;
  static Scenario scenario(bool elided) {
    Scenario scenario = test::two_servers();
    if (elided) scenario.engine.payload = PayloadMode::kElided;
    return scenario;
  }
  System system;
  WorkloadSpec spec = over_tcp();
  std::unique_ptr<ControlPath> path;
  Programs a{system.scheduler(), "a"};
  Programs b{system.scheduler(), "b"};
  Scheduler::End end{};
};

ControlMessage pattern(std::size_t bytes) {
  ControlMessage message(bytes);
  for (std::size_t i = 0; i < bytes; ++i) message[i] = static_cast<std::uint8_t>(i * 7);
  return message;
}

void send_long_message(bool elided) {
  Control control(elided);
  const ControlMessage sent = pattern(100'000);
  ControlMessage came;
  REQUIRE(control.run(
      [&](CpuTask& task, ControlPath& path) {
        path.forth().send(task, {9});
        path.forth().send(task, sent);
      },
      [&](CpuTask& task, ControlPath& path) {
        CHECK(path.forth().receive(task) == ControlMessage{9});
        came = path.forth().receive(task);
      }));
  CHECK(came == sent);
  // 5 and 100004 B in segments of 1448 B.
  std::uint64_t segments = 0;
  for (const ProbeRecord& r : control.probes.of(ProbeKind::kPacketSent))
    segments += r.segment.destination_port == 18515 && r.segment.payload != 0 ? 1 : 0;
  CHECK(segments == 1 + (100'004 + 1447) / 1448);
}

std::string workload_of(const std::string& members) {
  return R"([{"name": "w0", "from": "A", "to": "B", "control": "tcp", )" + members + "}]";
}

struct Run : test::SimulatedRun {
  explicit Run(const std::string& members, const std::string& more = "")
      : SimulatedRun(test::text_of(test::kHosts, workload_of(members), more)) {}
};

}  // namespace

TEST_CASE("Messages over TCP arrive in order, both ways over one connection") {
  Control control;
  std::vector<ControlMessage> at_b;
  std::vector<ControlMessage> at_a;
  REQUIRE(control.run(
      [&](CpuTask& task, ControlPath& path) {
        path.forth().send(task, {1, 2, 3});
        path.forth().send(task, {4});
        at_a.push_back(path.back().receive(task));
        at_a.push_back(path.back().receive(task));
      },
      [&](CpuTask& task, ControlPath& path) {
        at_b.push_back(path.forth().receive(task));
        path.back().send(task, {5, 6});
        at_b.push_back(path.forth().receive(task));
        path.back().send(task, {7});
      }));
  CHECK(at_b == std::vector<ControlMessage>{{1, 2, 3}, {4}});
  CHECK(at_a == std::vector<ControlMessage>{{5, 6}, {7}});
  const auto forth = test::metrics_of(control.path->forth());
  CHECK(forth.at("messages") == 2);
  CHECK(forth.at("bytes") == 12);
  CHECK(control.probes.of(ProbeKind::kConnected).size() == 2);  // seen from each end
  CHECK(control.probes.of(ProbeKind::kSocketSend).size() == 4);
  // Two calls a message.
  CHECK(control.probes.of(ProbeKind::kSocketReceive).size() == 8);
  CHECK(control.probes.of(ProbeKind::kConnectionClosed).size() == 2);
  // Only those from B to A are told of, as those of a fixed channel.
  const auto told = control.probes.of(ProbeKind::kControlMessage);
  REQUIRE(told.size() == 2);
  CHECK(told[0].b == 2);
  CHECK(told[0].segment.payload == 6);
  CHECK(told[0].segment.source_port == 18515);
  CHECK(told[0].time > Time::ps(static_cast<std::int64_t>(told[0].a)));
}

TEST_CASE("All work for a control channel is of the control plane, its copies are no payload") {
  Control control;
  REQUIRE(control.run(
      [](CpuTask& task, ControlPath& path) {
        path.forth().send(task, {1, 2, 3});
      },
      [](CpuTask& task, ControlPath& path) { path.forth().receive(task); }));
  for (const char* host : {"A", "B"}) {
    const CpuUsage& usage = control.system.server(host).host->usage();
    CHECK(usage.busy(CpuPlane::kData) == Time());
    CHECK(usage.time(CpuPlane::kControl, CpuCategory::kProtocol) > Time());
    CHECK(usage.copies() == 0);
    CHECK(usage.copied() == Bytes(0));
  }
  CHECK(control.sum_of("host.A.cpu.control.copies") == 1);
  CHECK(control.sum_of("host.A.cpu.control.copied_bytes") == 7);
  CHECK(control.sum_of("host.B.cpu.control.copies") == 2);
  CHECK(control.sum_of("host.B.cpu.control.copied_bytes") == 7);
}

TEST_CASE("A message longer than a segment arrives whole") { send_long_message(false); }

TEST_CASE("With elided payload its bytes do not travel, but what it says does") {
  send_long_message(true);
}

TEST_CASE("Who waits for a message of one that has left waits for ever") {
  Control control;
  CHECK_FALSE(control.run([](CpuTask& task, ControlPath& path) { path.back().receive(task); },
                          [](CpuTask& /*task*/, ControlPath& /*path*/) {}));
  CHECK(control.end == Scheduler::End::kIdle);
  CHECK(control.b.finished());
}

TEST_CASE("A WRITE whose key came over TCP leaves the data plane of its target's CPU at zero") {
  const Run run(R"("count": 8, "size": "4 KiB", "path_mtu": "1024 B")");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.completed") == 8);
  CHECK(run.value("workload.w0.mismatched_bytes") == 0);
  CHECK(run.value("host.B.cpu.data.busy") == 0);
  CHECK(run.value("host.A.cpu.copies") == 0);
  CHECK(run.value("host.B.cpu.copies") == 0);
  CHECK(run.value("workload.w0.control_channel.to_target.messages") == 2);
  CHECK(run.value("workload.w0.control_channel.to_initiator.messages") == 1);
  CHECK(run.value("host.A.memory.written.payload") == 0);
  CHECK(run.value("host.B.memory.written.payload") == 8 * 4096);
}

TEST_CASE("Windows' keys are handed over by the program that takes messages") {
  const Run run(R"("operation": "send_invalidate", "count": 12, "size": "64 B", "queue_depth": 4,
                   "path_mtu": "1024 B")");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.completed") == 12);
  CHECK(run.value("workload.w0.windows.bound") == 12);
  CHECK(run.value("workload.w0.control_channel.to_initiator.messages") == 13);
}

TEST_CASE("perftest says over TCP when a size begins and ends") {
  const Run run(R"("pattern": "perftest", "test": "ib_write_bw", "sizes": ["64 B", "1 KiB"],
                   "iterations": 10, "path_mtu": "1024 B", "bidirectional": true)");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.control_channel.to_server.messages") == 5);
  CHECK(run.value("workload.w0.control_channel.to_client.messages") == 3);
}

TEST_CASE("Connecting again over TCP costs what its messages take") {
  const Run run(R"("pattern": "rkey_guessing", "tries": 20, "target_regions": 3,
                   "path_mtu": "1024 B")");
  CHECK(run.result.violations.empty());
  CHECK(run.value("workload.w0.tries") == 3);
  CHECK(run.value("workload.w0.naks") == 2);
  CHECK(run.value("workload.w0.control_channel.to_service.messages") == 4);
  CHECK(run.value("workload.w0.control_channel.to_attacker.messages") == 3);
  CHECK(run.value("workload.w0.hits") == 1);
}

TEST_CASE("A target that hands nothing over keeps its initiator waiting over TCP as well") {
  const Run run(R"("fault": "silent", "path_mtu": "1024 B")");
  REQUIRE(run.result.violations.size() == 1);
  CHECK(run.result.violations[0].kind == "deadlock");
  CHECK(run.result.violations[0].text.find("waiting for address, length and rkey") !=
        std::string::npos);
}

TEST_CASE("A control connection that cannot be made is named as what programs wait for") {
  const Run run(R"("path_mtu": "1024 B")",
                R"(, "stop_at": "200 s",
                   "fabric": {"link": {"faults": [{"kind": "drop", "probability": 1}]}})");
  REQUIRE(run.result.violations.size() == 1);
  CHECK(run.result.violations[0].text.find("; the control connection timed out") !=
        std::string::npos);
}

TEST_CASE("Control channels over TCP have ports of their own, and keep off those of workloads") {
  const Scenario scenario = test::read(test::text_of(test::kHosts, R"([
      {"name": "w0", "from": "A", "to": "B", "path_mtu": "1024 B", "control": "tcp"},
      {"name": "w1", "from": "A", "to": "B", "path_mtu": "1024 B", "control": "tcp"},
      {"name": "w2", "from": "B", "to": "A", "path_mtu": "1024 B", "control": "tcp"},
      {"name": "w3", "from": "A", "to": "B", "transport": "tcp", "tcp": {"port": 18516}}])"));
  CHECK(scenario.workload[0].control_port == 18515);
  CHECK(scenario.workload[1].control_port == 18517);
  CHECK(scenario.workload[2].control_port == 18515);
  CHECK_FALSE(scenario.workload[3].control_port);
}

TEST_CASE("Control over TCP is refused where it cannot be") {
  CHECK(
      test::workload_failure(R"("path_mtu": "1024 B", "control": "tcp", "control_latency": "5 us")")
          .find("control_latency: belongs to control \"fixed\"; that of \"tcp\" is a result") !=
      std::string::npos);
  CHECK(test::workload_failure(R"("control": "tcp", "path_mtu": "1024 B")",
                               R"(, "fabric": {"link_layer": "infiniband"})")
            .find("control: \"tcp\" needs Ethernet, and fabric.link_layer is \"infiniband\"") !=
        std::string::npos);
  CHECK(test::workload_failure(R"("control": "tcp", "pattern": "incast")")
            .find("control: \"tcp\" belongs to the patterns \"pairs\", \"perftest\" and "
                  "\"rkey_guessing\"") != std::string::npos);
  CHECK(test::workload_failure(R"("control": "tcp", "transport": "tcp")")
            .find("control: does not belong to the pattern \"pairs\" over TCP") !=
        std::string::npos);
}
