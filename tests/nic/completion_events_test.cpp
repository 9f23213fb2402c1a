// SPDX-License-Identifier: MIT
// Arming, moderation and overrun of completion queues: CQE writer, completion events and event
// queue together, over a memory in which the test plays software.
#include "nic/completion_events.h"

#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "nic/cqe_writer.h"
#include "tests/support/endpoint_bench.h"
#include "tests/support/metric_recorder.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using abi::EventType;
using test::EndpointBench;

namespace {

const Clock kClock{Frequency::mhz(400)};
constexpr std::uint64_t kTable = 0x10000;
constexpr std::uint64_t kEqRing = 0x20000;
constexpr std::uint64_t kRings = 0x40000;
constexpr std::uint64_t kRecords = 0x30000;
constexpr Time kRead = EndpointBench::kRead;

struct Options {
  EventQueueConfig event_queue;
  HostTableCacheConfig contexts;
};

struct Bench : EndpointBench {
  explicit Bench(const Options& options = {})
      : events(scheduler, kClock, pcie, options.event_queue),
        contexts(scheduler, pcie, options.contexts, DmaPurpose::kCqContext, "contexts", 1),
        completion_events(scheduler, kClock, contexts, events),
        writer(scheduler, kClock, pcie, contexts, completion_events, events, {}) {
    events.connect(call<&CqeWriter::go_on>(&writer));
    writer.connect_overrun(notes.noting(0));
    contexts.set_table(PhysicalAddress(kTable), 16);
    abi::EqContext eq;
    eq.log_size = 4;
    eq.ring = PhysicalAddress(kEqRing);
    eq.msix_address = PhysicalAddress(0x2f000);
    REQUIRE(events.create(1, eq));
    cq(1);
  }
  /// Makes completion queue `cqn`, with events; what it had before is forgotten.
  void cq(std::uint32_t cqn, std::uint8_t log_size = 4, std::uint32_t eqn = 1,
          std::uint16_t count = 0, std::uint16_t period_us = 0) {
    abi::CqContext context;
    context.valid = true;
    context.log_size = log_size;
    context.ring = PhysicalAddress(kRings + std::uint64_t{cqn} * 0x1000);
    context.doorbell_record = PhysicalAddress(kRecords + std::uint64_t{cqn} * 64);
    context.eqn = eqn;
    context.moderation_count = count;
    context.moderation_period_us = period_us;
    context.write(memory.at(kTable + std::uint64_t{cqn} * abi::CqContext::kBytes));
  }
  /// So that nothing of what follows waits for it.
  void fetch(std::uint32_t cqn) {
    contexts.lookup(cqn, notes.noting(99));
    run();
    notes.list.clear();
    memory.log.clear();
  }
  void complete_at(Time time, std::uint32_t cqn, int count = 1, bool solicited = false,
                   CompletionStatus status = CompletionStatus::kSuccess) {
    at(time, [=, this_bench = this] {
      abi::Cqe cqe;
      cqe.opcode = abi::CqeOpcode::kRequest;
      cqe.status = status;
      for (int i = 0; i < count; ++i) this_bench->writer.write(Cqn(cqn), cqe, {}, time, solicited);
    });
  }
  void arm_at(Time time, std::uint32_t cqn, std::uint32_t consumer, bool solicited_only = false) {
    at(time, [=, this_bench = this] {
      this_bench->completion_events.arm(Cqn(cqn), consumer, solicited_only);
    });
  }
  void poll_at(Time time, std::uint32_t cqn, std::uint32_t consumer) {
    at(time, [=, this_bench = this] {
      store_be32(this_bench->memory.at(kRecords + std::uint64_t{cqn} * 64), consumer);
    });
  }
  std::vector<Time> begins(DmaPurpose purpose) {
    std::vector<Time> times;
    for (const auto& access : memory.of(purpose)) times.push_back(access.begin);
    return times;
  }
  abi::Eqe event(std::uint32_t place) {
    return abi::Eqe::read(memory.at(kEqRing + std::uint64_t{place} * abi::Eqe::kBytes));
  }
  std::uint64_t metric(const std::string& name) { return test::metrics_of(writer).at(name); }
  std::uint64_t event_metric(const std::string& name) {
    return test::metrics_of(completion_events).at(name);
  }

  EventQueue events;
  CqContextCache contexts;
  CompletionEvents completion_events;
  CqeWriter writer;
};

using Times = std::vector<Time>;
Time written_at(Time ready) { return kClock.after(ready, Cycles(6)); }
/// An event that becomes due at `time`.
Time event_at(Time time) { return kClock.after(time, Cycles(6)); }

}  // namespace

TEST_CASE("the next entry of an armed queue is followed by one event") {
  Bench bench;
  bench.fetch(1);
  bench.arm_at(10_us, 1, 0);
  bench.complete_at(20_us, 1, 3);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kCompletionQueue)[0] == written_at(20_us));
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event_at(written_at(20_us))});
  CHECK(bench.event(0).type == EventType::kCompletion);
  CHECK(bench.event(0).object == 1);
  CHECK(bench.event_metric("events") == 1);
}

TEST_CASE("a queue that is not armed has no event") {
  Bench bench;
  bench.complete_at(10_us, 1, 3);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue).empty());
  CHECK(bench.metric("cqes") == 3);
}

TEST_CASE("an entry that is there when software asks has its event at once") {
  Bench bench;
  bench.complete_at(10_us, 1, 3);
  bench.arm_at(20_us, 1, 2);  // the third entry has not been seen
  bench.arm_at(30_us, 1, 3);  // all have
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event_at(20_us)});
}

TEST_CASE("an index is understood across the end of its 24 bits") {
  Bench bench;
  abi::CqContext context = abi::CqContext::read(bench.memory.at(kTable + 64));
  context.producer_index = 0x01000001;
  context.write(bench.memory.at(kTable + 64));
  bench.poll_at(1_us, 1, 0x01000000);
  bench.fetch(1);
  bench.arm_at(10_us, 1, 1);         // nothing there
  bench.arm_at(20_us, 1, 0xffffff);  // two there
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event_at(20_us)});
}

TEST_CASE("arming waits for the queue's context") {
  Bench bench;
  bench.arm_at(10_us, 1, 0);
  bench.complete_at(10_us, 1);
  bench.run();
  // Both found it missing: one fetch. The arming asked first and looks first.
  CHECK(bench.begins(DmaPurpose::kCqContext) == Times{10_us});
  CHECK(bench.begins(DmaPurpose::kCompletionQueue) == Times{10_us + kRead});
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event_at(10_us + kRead)});
}

TEST_CASE(
    "solicited only: entries that nobody asked for have no event, marked ones and errors have") {
  Bench bench;
  bench.fetch(1);
  bench.arm_at(10_us, 1, 0, true);
  bench.complete_at(20_us, 1, 2);
  bench.complete_at(30_us, 1, 1, true);
  bench.arm_at(40_us, 1, 3, true);
  bench.complete_at(50_us, 1);
  bench.complete_at(60_us, 1, 1, false, CompletionStatus::kFlushed);
  bench.arm_at(70_us, 1, 4, true);  // the error is there
  bench.arm_at(80_us, 1, 5, true);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) ==
        Times{event_at(written_at(30_us)), event_at(written_at(60_us)), event_at(70_us)});
}

TEST_CASE("a request for any entry is not narrowed by one for solicited entries") {
  Bench bench;
  bench.fetch(1);
  bench.arm_at(10_us, 1, 0);
  bench.arm_at(11_us, 1, 0, true);
  bench.complete_at(20_us, 1);
  bench.arm_at(30_us, 1, 1, true);
  bench.arm_at(31_us, 1, 1);
  bench.complete_at(40_us, 1);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) ==
        Times{event_at(written_at(20_us)), event_at(written_at(40_us))});
}

TEST_CASE("moderation holds the event back until there are enough entries") {
  Bench bench;
  bench.cq(2, 4, 1, 4, 1000);
  bench.fetch(2);
  bench.arm_at(10_us, 2, 0);
  for (int i = 0; i < 5; ++i) bench.complete_at(20_us + 10_us * i, 2);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event_at(written_at(50_us))});
  CHECK(bench.event_metric("held_back") == 1);
  CHECK(bench.event_metric("occupancy.max") == 1);
}

TEST_CASE("moderation holds the event back until enough time has passed since the first entry") {
  Bench bench;
  bench.cq(2, 4, 1, 4, 100);
  bench.fetch(2);
  bench.arm_at(10_us, 2, 0);
  bench.complete_at(20_us, 2);
  bench.complete_at(70_us, 2);
  bench.arm_at(300_us, 2, 2);
  bench.complete_at(400_us, 2);
  bench.scheduler.hold();  // somebody sleeps
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) ==
        Times{event_at(written_at(20_us) + 100_us), event_at(written_at(400_us) + 100_us)});
}

TEST_CASE("an event that is held back delays the end of a run only if somebody sleeps") {
  Bench bench;
  bench.cq(2, 4, 1, 4, 1000);
  bench.fetch(2);
  bench.arm_at(10_us, 2, 0);
  bench.complete_at(20_us, 2);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue).empty());
  CHECK(bench.scheduler.now() < 30_us);
  bench.scheduler.hold();
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event_at(written_at(20_us) + 1_ms)});
}

TEST_CASE("a timer of an event that came by count does not shorten the next") {
  Bench bench;
  bench.cq(2, 4, 1, 2, 100);
  bench.fetch(2);
  bench.arm_at(10_us, 2, 0);
  bench.complete_at(20_us, 2, 2);
  bench.arm_at(80_us, 2, 2);
  bench.complete_at(90_us, 2);
  bench.scheduler.hold();
  bench.run();
  const Time second = kClock.after(20_us, Cycles(8));
  CHECK(bench.begins(DmaPurpose::kEventQueue) ==
        Times{event_at(second), event_at(written_at(90_us) + 100_us)});
}

TEST_CASE("an event that is held back comes at once when moderation is turned off") {
  Bench bench;
  bench.cq(2, 4, 1, 4, 1000);
  bench.fetch(2);
  bench.arm_at(10_us, 2, 0);
  bench.complete_at(20_us, 2);
  bench.at(30_us, [&] {
    bench.contexts.peek(2)->moderation_count = 0;
    bench.completion_events.changed(Cqn(2));
  });
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event_at(30_us)});
}

TEST_CASE("a queue that is made again has lost its request, its timer and its place") {
  Bench bench;
  bench.cq(2, 4, 1, 4, 100);
  bench.fetch(2);
  bench.arm_at(10_us, 2, 0);
  bench.complete_at(20_us, 2);
  bench.at(30_us, [&] {
    bench.completion_events.forget(Cqn(2));
    bench.writer.forget(Cqn(2));
    bench.contexts.invalidate(2);
  });
  bench.complete_at(40_us, 2, 5);
  bench.scheduler.hold();
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue).empty());
}

TEST_CASE("requests for queues that do not exist or have no events are ignored") {
  Bench bench;
  bench.cq(2, 4, 0);
  bench.arm_at(10_us, 2, 0);
  bench.arm_at(10_us, 3, 0);
  bench.arm_at(10_us, 16, 0);
  bench.complete_at(20_us, 2);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue).empty());
  CHECK(bench.event_metric("requests") == 3);
  CHECK(bench.event_metric("ignored") == 3);
}

TEST_CASE("an entry whose queue has events waits for room for them") {
  Options options;
  options.event_queue.queue = 1;
  options.event_queue.pipeline = {Cycles(400), Cycles(400)};
  Bench bench(options);
  for (const std::uint32_t cqn : {2u, 3u, 4u}) {
    bench.cq(cqn, 4, cqn == 4 ? 0 : 1);
    bench.fetch(cqn);
  }
  bench.arm_at(10_us, 2, 0);
  bench.arm_at(10_us, 3, 0);
  bench.complete_at(20_us, 2);
  bench.complete_at(20_us, 4);  // has none, and goes before
  bench.complete_at(20_us, 3);
  bench.run();
  const Time first = written_at(20_us);
  const Time event = kClock.after(first, Cycles(400));
  CHECK(bench.begins(DmaPurpose::kCompletionQueue) ==
        Times{first, kClock.after(first, Cycles(2)), event});
  CHECK(bench.begins(DmaPurpose::kEventQueue) == Times{event, kClock.after(event, Cycles(400))});
  CHECK(bench.metric("stalled.event_queue") ==
        static_cast<std::uint64_t>((event - kClock.after(first, Cycles(4))).ps()));
}

TEST_CASE("a queue that software empties is never waited for: its record is read ahead") {
  Bench bench;
  bench.fetch(1);
  for (std::uint32_t i = 0; i < 64; ++i) {
    bench.complete_at(10_us + 1_us * i, 1);
    bench.poll_at(10_us + 1_us * i + 500_ns, 1, i + 1);
  }
  bench.run();
  CHECK(bench.metric("cqes") == 64);
  CHECK(bench.metric("stalled.doorbell_record") == 0);
  // The ninth entry uses up half of the room. The look finds eight taken, so with the tenth there
  // is room for 14, of which the 17th uses up half, and so on.
  CHECK(bench.begins(DmaPurpose::kDoorbellRecord)[0] == written_at(18_us));
  CHECK(bench.begins(DmaPurpose::kDoorbellRecord)[1] == written_at(26_us));
  CHECK(bench.metric("doorbell_records_read") == 7);
  CHECK(bench.metric("overruns") == 0);
}

TEST_CASE("an entry that finds its queue full is written if software has made room meanwhile") {
  Bench bench;
  bench.cq(2, 1);
  bench.fetch(2);
  bench.complete_at(10_us, 2, 2);
  bench.complete_at(20_us, 2);
  bench.poll_at(20_us + 100_ns, 2, 1);
  bench.run();
  const Time looked = written_at(20_us) + kRead;
  CHECK(bench.begins(DmaPurpose::kCompletionQueue).back() == looked);
  CHECK(bench.metric("stalled.doorbell_record") == static_cast<std::uint64_t>(kRead.ps()));
  CHECK(bench.metric("overruns") == 0);
  CHECK(bench.metric("cqes") == 3);
}

TEST_CASE(
    "a queue that nobody polls is overrun: its entries stand, later ones are lost, all know") {
  Bench bench;
  bench.cq(2, 1);
  bench.fetch(2);
  bench.arm_at(1_us, 2, 0);
  bench.complete_at(10_us, 2, 2);
  bench.complete_at(20_us, 2, 3);
  bench.poll_at(30_us, 2, 2);
  bench.complete_at(40_us, 2);
  bench.run();
  const Time found = written_at(20_us) + kRead;
  CHECK(bench.begins(DmaPurpose::kCompletionQueue).size() == 2);
  CHECK(bench.begins(DmaPurpose::kEventQueue) ==
        Times{event_at(written_at(10_us)), event_at(found)});
  CHECK(bench.event(1).type == EventType::kCqError);
  CHECK(bench.event(1).object == 2);
  CHECK(bench.notes.list == test::Noted{{2, found}});
  CHECK(bench.metric("overruns") == 1);
  CHECK(bench.metric("lost") == 4);
  CHECK(bench.contexts.peek(2)->overrun);
  CHECK(bench.writer.idle());
}

TEST_CASE("the overrun of a queue without events is told through event queue 1") {
  Bench bench;
  bench.cq(2, 0, 0);
  bench.fetch(2);
  bench.complete_at(10_us, 2, 2);
  bench.run();
  CHECK(bench.begins(DmaPurpose::kEventQueue).size() == 1);
  CHECK(bench.event(0).type == EventType::kCqError);
}
