// SPDX-License-Identifier: MIT
// Completion events from end to end: a program on A that sleeps on its completion channel, over
// driver, PCIe, NIC and cable, until its WRITEs to B have completed.
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/software_thread.h"
#include "scenarios/engine/system.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/probe_recorder.h"
#include "tests/support/two_servers.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::two_servers;

namespace {

/// A process on each server and a queue pair between them.
struct Pair {
  Pair() { system.attach(&probes); }
  /// Runs a program on the server's first core to its end.
  void run(System::Server& server, std::function<void(CpuTask&)> body) {
    auto& slot = threads.emplace_back();
    CpuCore& core = server.host->core(0);
    slot = std::make_unique<SoftwareThread>(system.scheduler(),
                                            "program" + std::to_string(threads.size()),
                                            [&slot, &core, body = std::move(body)] {
                                              CpuTask task(core, *slot);
                                              body(task);
                                              task.settle();
                                            });
    system.scheduler().run_until(system.scheduler().now() + Time::s(1));
    REQUIRE(slot->finished());
  }
  struct Side {
    System::Server& server;
    Process process{*server.host};
    PdNumber pd{};
    MemoryRegion region{};
    CompletionChannel* channel = nullptr;
    CompletionQueue* cq = nullptr;
    QueuePair* qp = nullptr;
  };
  void create(Side& side, CpuTask& task, std::uint32_t entries, bool events) {
    Verbs& verbs = side.process.verbs;
    REQUIRE(side.server.host->driver(0).bring_up(task) == Errno::kOk);
    side.pd = verbs.alloc_pd(task);
    const VirtualAddress buffer = *side.process.pages.map(Bytes(4096), PageSize::k4KiB);
    side.region = verbs
                      .reg_mr(task, side.pd, buffer, 4096,
                              AccessFlags(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite))
                      .value;
    if (events) side.channel = verbs.create_comp_channel(task).value;
    side.cq = verbs.create_cq(task, entries, side.channel).value;
    QueuePairInit init;
    init.pd = side.pd;
    init.send_cq = init.receive_cq = side.cq;
    side.qp = verbs.create_qp(task, init).value;
  }
  static void connect(Side& side, const Side& peer, CpuTask& task) {
    QpAttributes attributes;
    attributes.state = QpState::kInit;
    attributes.access = AccessFlags(AccessFlags::kRemoteWrite);
    REQUIRE(side.process.verbs.modify_qp(task, side.qp, attributes) == Errno::kOk);
    attributes = {};
    attributes.state = QpState::kRtr;
    attributes.path_mtu = 1024;
    attributes.remote_qpn = peer.qp->qpn();
    attributes.remote_ip = peer.server.ports[0].ip;
    attributes.remote_mac = peer.server.ports[0].mac;
    attributes.receive_psn = Psn(1);
    REQUIRE(side.process.verbs.modify_qp(task, side.qp, attributes) == Errno::kOk);
    attributes = {};
    attributes.state = QpState::kRts;
    attributes.send_psn = Psn(1);
    REQUIRE(side.process.verbs.modify_qp(task, side.qp, attributes) == Errno::kOk);
  }
  void open(std::uint32_t entries, bool events) {
    run(a.server, [&](CpuTask& task) { create(a, task, entries, events); });
    run(b.server, [&](CpuTask& task) { create(b, task, entries, false); });
    run(b.server, [&](CpuTask& task) { connect(b, a, task); });
    run(a.server, [&](CpuTask& task) { connect(a, b, task); });
  }
  void write(CpuTask& task, std::uint32_t count) {
    const ScatterGather piece{a.region.address, 64, a.region.lkey};
    SendRequest request;
    request.list = &piece;
    request.list_length = 1;
    request.remote_address = b.region.address;
    request.rkey = b.region.rkey;
    const std::vector<SendRequest> requests(count, request);
    REQUIRE(a.process.verbs.post_send(task, a.qp, requests.data(), count).posted == count);
  }
  /// Of A's NIC.
  Time entry_written(std::size_t nth) { return probes.of(ProbeKind::kCqeWritten).at(nth).time; }
  /// When a program wakes whose event became due at `time` in A's NIC.
  Time wakes(Time time) {
    const HostConfig& host = a.server.host->config();
    const ByteTime byte(host.pcie.rate());
    // The entry of 64 B passes the link (24 B of header and framing) and becomes visible; the
    // message behind it is there by then and counts at that instant.
    const Time visible = time + a_nic_clock.duration(Cycles(6)) + byte.of(88_B) +
                         host.pcie.latency_up + host.pcie.root_complex_latency +
                         host.memory.write_latency;
    const Clock cpu(host.cpu.frequency);
    const Time handled = visible + host.interrupt.latency + cpu.duration(host.interrupt.entry) +
                         cpu.duration(host.driver.event) + cpu.duration(host.interrupt.wake);
    return handled + host.interrupt.wake_up + cpu.duration(host.interrupt.context_switch);
  }
  std::uint64_t metric(const std::string& path) {
    test::MetricRecorder recorder;
    system.report(recorder);
    return recorder.values.at(path);
  }
  InterruptController& interrupts() { return a.server.host->interrupts(); }

  test::ProbeRecorder probes;
  Scenario scenario = two_servers();
  System system{"system", scenario};
  Clock a_nic_clock{scenario.hosts[0].nics[0].config.clock};
  Side a{system.server("A")};
  Side b{system.server("B")};
  std::deque<std::unique_ptr<SoftwareThread>> threads;
};

}  // namespace

TEST_CASE("A program asleep until its WRITE has completed wakes at the exact cost, its CPU idle") {
  Pair pair;
  pair.open(16, true);
  pair.run(pair.a.server, [&](CpuTask& task) {
    Verbs& verbs = pair.a.process.verbs;
    CpuCore& core = pair.a.server.host->core(0);
    REQUIRE(verbs.req_notify_cq(task, pair.a.cq) == Errno::kOk);
    pair.write(task, 1);
    const Time busy = core.busy();
    const Time posted = task.now();
    REQUIRE(verbs.get_cq_event(task, pair.a.channel) == pair.a.cq);
    CHECK(task.now() == pair.wakes(pair.entry_written(0)));
    CHECK(pair.interrupts().handled() == 1);
    // System call, interrupt with its entry, waking and arming, and the switch back: nothing else.
    const HostConfig& host = pair.a.server.host->config();
    const Cycles worked = host.driver.syscall + host.interrupt.entry + host.driver.event +
                          host.interrupt.wake + host.driver.event_arm +
                          host.interrupt.context_switch;
    CHECK(core.busy() - busy == Clock(host.cpu.frequency).duration(worked));
    CHECK(task.now() - posted > core.busy() - busy);
    CHECK(pair.a.server.host->usage().cycles(CpuPlane::kData, CpuCategory::kPolling) == 0_cycles);
    WorkCompletion done;
    REQUIRE(verbs.poll_cq(task, pair.a.cq, &done, 1) == 1);
    CHECK(done.status == CompletionStatus::kSuccess);
    verbs.ack_cq_events(pair.a.cq, 1);
  });
  CHECK(pair.metric("host.A.interrupts.messages") == 1);
  CHECK(pair.metric("host.A.nic0.event_queue.messages") == 1);
  CHECK(pair.metric("host.B.interrupts.messages") == 0);
}

TEST_CASE("With moderation many completions cost one interrupt, at the last or after the period") {
  Pair pair;
  pair.open(16, true);
  pair.run(pair.a.server, [&](CpuTask& task) {
    Verbs& verbs = pair.a.process.verbs;
    WorkCompletion done[16];
    REQUIRE(verbs.modify_cq(task, pair.a.cq, 8, 50) == Errno::kOk);
    REQUIRE(verbs.req_notify_cq(task, pair.a.cq) == Errno::kOk);
    pair.write(task, 8);
    verbs.get_cq_event(task, pair.a.channel);
    CHECK(task.now() == pair.wakes(pair.entry_written(7)));
    CHECK(verbs.poll_cq(task, pair.a.cq, done, 16) == 8);
    CHECK(pair.interrupts().handled() == 1);

    REQUIRE(verbs.req_notify_cq(task, pair.a.cq) == Errno::kOk);
    pair.write(task, 5);
    verbs.get_cq_event(task, pair.a.channel);
    CHECK(task.now() == pair.wakes(pair.entry_written(8) + 50_us));
    CHECK(verbs.poll_cq(task, pair.a.cq, done, 16) == 5);
    CHECK(pair.interrupts().handled() == 2);
    verbs.ack_cq_events(pair.a.cq, 2);
  });
  CHECK(pair.metric("host.A.nic0.completion_events.events") == 2);
}

TEST_CASE("Without moderation a program that asks again after each event has several interrupts") {
  Pair pair;
  pair.open(16, true);
  unsigned events = 0;
  pair.run(pair.a.server, [&](CpuTask& task) {
    Verbs& verbs = pair.a.process.verbs;
    WorkCompletion done[16];
    REQUIRE(verbs.req_notify_cq(task, pair.a.cq) == Errno::kOk);
    for (unsigned settled = 0; settled < 8; ++events) {
      pair.write(task, 2);
      verbs.get_cq_event(task, pair.a.channel);
      REQUIRE(verbs.req_notify_cq(task, pair.a.cq) == Errno::kOk);
      settled += verbs.poll_cq(task, pair.a.cq, done, 16);
    }
    verbs.ack_cq_events(pair.a.cq, events);
  });
  CHECK(events == 4);
  CHECK(pair.interrupts().handled() >= 4);
}

TEST_CASE("A completion queue that nobody polls is overrun: an event says so, and the report") {
  Pair pair;
  pair.open(4, false);
  pair.run(pair.a.server, [&](CpuTask& task) {
    Verbs& verbs = pair.a.process.verbs;
    REQUIRE_FALSE(verbs.poll_async_event(task).value.has_value());
    pair.write(task, 7);
    const DeviceEvent event = verbs.get_async_event(task).value;
    CHECK(event.type == abi::EventType::kCqError);
    CHECK(event.object == pair.a.cq->cqn().value());
    task.sleep_until(task.now() + 100_us);
    WorkCompletion done[16];
    CHECK(verbs.poll_cq(task, pair.a.cq, done, 16) == 4);
    pair.write(task, 1);
    task.sleep_until(task.now() + 100_us);
    CHECK(verbs.poll_cq(task, pair.a.cq, done, 16) == 0);
  });
  CHECK(pair.metric("host.A.nic0.cqe_writer.overruns") == 1);
  CHECK(pair.metric("host.A.nic0.cqe_writer.lost") == 4);
}
