// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <vector>

#include "tests/support/verbs_session.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using ByteVector = std::vector<std::uint8_t>;

namespace {

struct EventSession : test::Session {
  EventSession() { init.max_recv_requests = 4; }
  CompletionChannel* channel = nullptr;
  CompletionQueue* events_cq = nullptr;  ///< with the channel; its queue pair is `pair`
  QueuePair* pair = nullptr;

  void run_with_channel(const std::function<void(CpuTask&)>& body) {
    run([&](CpuTask& task) {
      channel = host.verbs.create_comp_channel(task).value;
      events_cq = host.verbs.create_cq(task, 8, channel).value;
      QueuePairInit of_pair = init;
      of_pair.send_cq = of_pair.receive_cq = events_cq;
      pair = host.verbs.create_qp(task, of_pair).value;
      to_rts(task, pair);
      task.settle();
      body(task);
    });
  }
  /// The fake NIC does something at a time.
  void at(Time time, std::function<void()> what) {
    pending.push_back(std::move(what));
    host.scheduler.at(time, call<&EventSession::act>(this, pending.size() - 1));
  }
  void act(std::uint64_t i) { pending[i](); }
  std::deque<std::function<void()>> pending;
};

}  // namespace

TEST_CASE("The first channel makes the event queue: context, command, armed at zero") {
  EventSession s;
  s.run([&](CpuTask& task) {
    REQUIRE(s.host.nic.eq.ring == PhysicalAddress());
    s.host.nic.mmio.clear();
    REQUIRE(s.host.verbs.create_comp_channel(task).ok());
    const abi::EqContext& eq = s.host.nic.eq;
    REQUIRE(s.host.nic.commands.back().opcode == abi::CommandOpcode::kCreateEq);
    REQUIRE(s.host.nic.commands.back().object == 1);
    REQUIRE(eq.log_size == 10);
    REQUIRE(eq.msix_address == PhysicalAddress(0xfee00000));
    REQUIRE(eq.msix_data == 32);
    ByteVector last(64);
    s.host.memory.load(PhysicalAddress(eq.ring.value() + 1023 * 64), last.data(), 64);
    REQUIRE(last[1] == 0xff);
    REQUIRE(s.host.nic.mmio.size() == 2);  // the command's doorbell, then the arming
    REQUIRE(s.host.nic.mmio[1].offset == 0x20);
    REQUIRE(s.host.nic.mmio[1].data == ByteVector{0, 0, 0, 1, 0, 0, 0, 0});
    const std::size_t commands = s.host.nic.commands.size();
    REQUIRE(s.host.verbs.create_comp_channel(task).ok());
    REQUIRE(s.host.nic.commands.size() == commands);
    REQUIRE(s.host.nic.cq_context(s.cq->cqn()).eqn == 0);
    CompletionChannel* channel = s.host.verbs.create_comp_channel(task).value;
    CompletionQueue* cq = s.host.verbs.create_cq(task, 8, channel).value;
    REQUIRE(s.host.nic.cq_context(cq->cqn()).eqn == 1);
    REQUIRE(s.host.verbs.req_notify_cq(task, s.cq) == Errno::kInvalid);
  });
}

TEST_CASE("A sleeping program wakes after interrupt, handler, wake-up and context switch") {
  EventSession s;
  s.run_with_channel([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_recv(task, s.pair, ReceiveRequest{}) == Errno::kOk);
    s.host.nic.mmio.clear();
    REQUIRE(s.host.verbs.req_notify_cq(task, s.events_cq) == Errno::kOk);
    const auto cqn = static_cast<std::uint8_t>(s.events_cq->cqn().value());
    REQUIRE(s.host.nic.mmio[0].offset == 0x1020);
    REQUIRE(s.host.nic.mmio[0].data == ByteVector{0, 0, 0, 0, 0, 0, 0, cqn});

    const Time arrival = s.host.scheduler.now() + 100_us;
    abi::Cqe cqe;
    cqe.opcode = abi::CqeOpcode::kResponseSend;
    s.at(arrival, [&] { s.host.nic.deliver(s.pair->qpn(), cqe); });
    const Time busy = s.host.core.busy();
    REQUIRE(s.host.verbs.get_cq_event(task, s.channel) == s.events_cq);
    REQUIRE(s.host.usage.system_calls(CpuPlane::kData) == 1);
    REQUIRE(s.host.usage.context_switches(CpuPlane::kData) == 1);
    // 300 ns and 1,400 cycles into the handler, 350 for the entry and 600 for waking, 1 us until
    // the program runs, 3,500 to switch.
    REQUIRE((task.now() - arrival).ps() == (7150_ns).ps());
    REQUIRE(s.host.usage.cycles(CpuPlane::kData, CpuCategory::kScheduling) == 4100_cycles);
    // Asleep the core did nothing: the system call and the 210 cycles of arming besides.
    REQUIRE((s.host.core.busy() - busy).ps() ==
            (700_ns + 1400_ns + 350_ns + 600_ns + 210_ns + 3500_ns).ps());
    REQUIRE(s.host.usage.cycles(CpuPlane::kData, CpuCategory::kInterrupt) == 1960_cycles);
    const auto& arm = s.host.nic.mmio.back();
    REQUIRE(arm.offset == 0x20);
    REQUIRE(arm.at.ps() == (arrival + 300_ns + 1400_ns + 350_ns + 600_ns + 210_ns).ps());
    REQUIRE(arm.data == ByteVector{0, 0, 0, 1, 0, 0, 0, 1});
    WorkCompletion done;
    REQUIRE(s.host.verbs.poll_cq(task, s.events_cq, &done, 1) == 1);

    REQUIRE(s.host.verbs.destroy_qp(task, s.pair) == Errno::kOk);
    REQUIRE(s.host.verbs.destroy_cq(task, s.events_cq) == Errno::kBusy);
    s.host.verbs.ack_cq_events(s.events_cq, 1);
    REQUIRE(s.host.verbs.destroy_comp_channel(task, s.channel) == Errno::kBusy);
    REQUIRE(s.host.verbs.destroy_cq(task, s.events_cq) == Errno::kOk);
    REQUIRE(s.host.verbs.destroy_comp_channel(task, s.channel) == Errno::kOk);
  });
}

TEST_CASE("A request for an event names what was polled, so that an entry in between is not lost") {
  EventSession s;
  s.run_with_channel([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_recv(task, s.pair, ReceiveRequest{}) == Errno::kOk);
    abi::Cqe cqe;
    cqe.opcode = abi::CqeOpcode::kResponseSend;
    s.host.nic.deliver(s.pair->qpn(), cqe);
    REQUIRE(s.host.verbs.req_notify_cq(task, s.events_cq, true) == Errno::kOk);
    REQUIRE(s.host.nic.mmio.back().data[0] == 1);
    REQUIRE(s.host.verbs.get_cq_event(task, s.channel) == s.events_cq);
    WorkCompletion done;
    REQUIRE(s.host.verbs.poll_cq(task, s.events_cq, &done, 1) == 1);
    REQUIRE(s.host.verbs.req_notify_cq(task, s.events_cq) == Errno::kOk);
    REQUIRE(s.host.nic.mmio.back().data[3] == 1);
    s.host.verbs.ack_cq_events(s.events_cq, 1);
    task.sleep_until(task.now() + 100_us);
    REQUIRE(s.host.interrupts.handled() == 1);
  });
}

TEST_CASE("Events that wait for the handler are handled by one interrupt, over laps of the ring") {
  EventSession s;
  s.run_with_channel([&](CpuTask& task) {
    const std::uint32_t qpn = s.qp->qpn().value();
    std::uint64_t taken = 0;
    for (unsigned round = 0; round < 50; ++round) {
      s.at(task.now() + 1_us, [&] {
        for (unsigned i = 0; i < 50; ++i) s.host.nic.event(abi::EventType::kQpError, qpn);
      });
      for (unsigned i = 0; i < 50; ++i, ++taken) {
        const DeviceEvent event = s.host.verbs.get_async_event(task).value;
        REQUIRE(event.type == abi::EventType::kQpError);
        REQUIRE(event.object == qpn);
      }
      task.settle();
    }
    REQUIRE(taken == 2500);
    REQUIRE(s.host.driver.events().events() == 2500);
    REQUIRE(s.host.interrupts.handled() == 50);
    REQUIRE_FALSE(s.host.verbs.poll_async_event(task).value.has_value());
  });
}

TEST_CASE("Asynchronous events go to the process whose object they name, or nowhere") {
  EventSession s;
  s.run_with_channel([&](CpuTask& task) {
    Verbs& verbs = s.host.verbs;
    SharedReceiveQueue* srq = verbs.create_srq(task, s.init.pd, 4).value;
    Verbs other(VerbsConfig{}, s.host.driver, s.host.pages, s.host.nic);
    CompletionQueue* theirs = other.create_cq(task, 4).value;
    s.host.nic.event(abi::EventType::kSrqLimit, srq->srqn());
    s.host.nic.event(abi::EventType::kCqError, theirs->cqn().value());
    s.host.nic.event(abi::EventType::kCqError, s.cq->cqn().value());
    s.host.nic.event(abi::EventType::kQpError, 4711);
    s.host.nic.event(abi::EventType::kSqDrained, s.qp->qpn().value());
    task.sleep_until(task.now() + 10_us);
    auto event = verbs.poll_async_event(task).value;
    REQUIRE(event->type == abi::EventType::kSrqLimit);
    REQUIRE(event->object == srq->srqn());
    event = verbs.poll_async_event(task).value;
    REQUIRE(event->type == abi::EventType::kCqError);
    REQUIRE(event->object == s.cq->cqn().value());
    event = verbs.poll_async_event(task).value;
    REQUIRE(event->type == abi::EventType::kSqDrained);
    REQUIRE(event->object == s.qp->qpn().value());
    REQUIRE_FALSE(verbs.poll_async_event(task).value.has_value());
    event = other.poll_async_event(task).value;
    REQUIRE(event->object == theirs->cqn().value());

    // What is destroyed takes its events along.
    s.host.nic.event(abi::EventType::kSrqLimit, srq->srqn());
    task.sleep_until(task.now() + 10_us);
    REQUIRE(verbs.destroy_srq(task, srq) == Errno::kOk);
    REQUIRE_FALSE(verbs.poll_async_event(task).value.has_value());
  });
}

TEST_CASE("Several sleepers of one channel wake in the order in which they went to sleep") {
  EventSession s;
  std::vector<std::uint32_t> woken;
  s.run_with_channel([&](CpuTask& task) {
    for (unsigned i = 0; i < 2; ++i)
      s.host.start([&, i](CpuTask& sleeper) {
        sleeper.sleep_until(sleeper.now() + 10_us);
        REQUIRE(s.host.verbs.get_cq_event(sleeper, s.channel) == s.events_cq);
        woken.push_back(i);
        s.host.verbs.ack_cq_events(s.events_cq, 1);
      });
    task.sleep_until(task.now() + 50_us);
    for (unsigned i = 0; i < 2; ++i) {
      s.host.nic.event(abi::EventType::kCompletion, s.events_cq->cqn().value());
      task.sleep_until(task.now() + 50_us);
      REQUIRE(woken.size() == i + 1);
    }
  });
  REQUIRE(woken == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("Moderation of a completion queue changes by command and nothing else of it does") {
  EventSession s;
  s.run_with_channel([&](CpuTask& task) {
    REQUIRE(s.host.verbs.modify_cq(task, s.events_cq, 16, 20) == Errno::kOk);
    REQUIRE(s.host.nic.commands.back().opcode == abi::CommandOpcode::kModifyCq);
    const abi::CqContext& wanted = s.host.nic.moderation.at(s.events_cq->cqn().value());
    REQUIRE(wanted.moderation_count == 16);
    REQUIRE(wanted.moderation_period_us == 20);
    REQUIRE(s.host.nic.cq_context(s.events_cq->cqn()).valid);
    REQUIRE(s.host.driver.modify_cq(task, Cqn(99), 1, 1) == Errno::kInvalid);
  });
}

TEST_CASE("Each call of the driver is a system call of the control plane") {
  EventSession s;
  s.run([&](CpuTask& task) {
    const auto calls = [&] { return s.host.usage.system_calls(CpuPlane::kControl); };
    std::uint64_t before = calls();
    QueuePair* const pair = s.host.verbs.create_qp(task, s.init).value;
    REQUIRE(calls() == before + 1);
    s.to_rts(task, pair);
    REQUIRE(calls() == before + 4);
    before = calls();
    const VirtualAddress buffer = *s.host.pages.map(Bytes(4096), PageSize::k4KiB);
    const auto region = s.host.verbs.reg_mr(task, s.init.pd, buffer, 4096, {});
    REQUIRE(region.ok());
    REQUIRE(calls() == before + 1);
    REQUIRE(s.host.usage.system_calls(CpuPlane::kData) == 0);
  });
}
