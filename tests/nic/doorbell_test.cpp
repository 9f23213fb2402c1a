// SPDX-License-Identifier: MIT
// The registers for events and receives; send doorbells: wqe_fetch_test.
#include "nic/doorbell.h"

#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "tests/support/nic_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::OneNic;

namespace {

const Clock kClock{Frequency::mhz(400)};

/// Queue pair 1 completes into queue 2, which has events in event queue 1.
struct Bench : OneNic {
  explicit Bench(const test::BenchOptions& options = {}) : OneNic(options) {
    driver().add_eq(1);
    abi::CqContext with_events;
    with_events.eqn = 1;
    driver().add_cq(Cqn(2), 4, with_events);
    test::QpOptions qp;
    qp.cqn = Cqn(2);
    driver().add_qp(Qpn(1), qp);
    region = driver().add_region(3);
  }
  /// Sends and completes a message; returns when its completion entry went to memory.
  Time complete() {
    test::MiniDriver::Write w;
    w.gather = {{region.start, 64, region.key}};
    driver().post(Qpn(1), w);
    driver().ring(Qpn(1));
    run();
    arrive_at(scheduler.now() + 10_ns, response(psn, Aeth::ack(1)));
    psn = psn + 1;
    run();
    return host.memory.of(DmaPurpose::kCompletionQueue).back().begin;
  }
  std::vector<test::FakeDmaMemory::Access> messages() {
    return host.memory.of(DmaPurpose::kInterrupt);
  }
  test::Region region;
  Psn psn{100};
};

}  // namespace

TEST_CASE("armed through their registers, the queues interrupt after entry and event") {
  Bench bench;
  bench.driver().arm_eq(1);
  bench.driver().arm_cq(Cqn(2));
  bench.run();
  const Time entry = bench.complete();
  const auto events = bench.host.memory.of(DmaPurpose::kEventQueue);
  REQUIRE(events.size() == 1);
  CHECK(events[0].begin == kClock.after(entry, Cycles(6)));
  REQUIRE(bench.messages().size() == 1);
  CHECK(bench.messages()[0].begin == events[0].begin);
  CHECK(bench.messages()[0].address == bench.driver().eq(1).msix_address.value());
  CHECK(load_be32(bench.driver().at(bench.messages()[0].address)) == 0x1001);
  const auto found = bench.driver().events(1);
  REQUIRE(found.size() == 1);
  CHECK(found[0].type == abi::EventType::kCompletion);
  CHECK(found[0].object == 2);
  CHECK(bench.host.metric("doorbell.armed") == 2);
  CHECK(bench.host.nic.idle());
}

TEST_CASE("arming the event queue too late costs the doorbell and the event queue's pipeline") {
  Bench bench;
  bench.driver().arm_cq(Cqn(2));
  bench.run();
  bench.complete();
  CHECK(bench.messages().empty());
  const Time start = bench.scheduler.now();
  bench.driver().arm_eq(1);
  bench.run();
  REQUIRE(bench.messages().size() == 1);
  CHECK(bench.messages()[0].begin == kClock.after(kClock.after(start, Cycles(8)), Cycles(6)));
}

TEST_CASE("arming a completion queue too late does so too, and the index says what is known") {
  Bench bench;
  bench.driver().arm_eq(1);
  bench.complete();
  const Time start = bench.scheduler.now();
  bench.driver().arm_cq(Cqn(2));
  bench.run();
  REQUIRE(bench.messages().size() == 1);
  CHECK(bench.messages()[0].begin == kClock.after(kClock.after(start, Cycles(8)), Cycles(6)));
  CHECK(bench.driver().events(1).size() == 1);
  bench.driver().arm_eq(1);
  CHECK(bench.driver().poll(Cqn(2)).size() == 1);
  bench.driver().arm_cq(Cqn(2));
  bench.run();
  CHECK(bench.messages().size() == 1);  // nothing new is there
}

TEST_CASE("a request for solicited entries passes over an ordinary one") {
  Bench bench;
  bench.driver().arm_eq(1);
  bench.driver().arm_cq(Cqn(2), true);
  bench.run();
  bench.complete();
  CHECK(bench.messages().empty());
  CHECK(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  test::MiniDriver::Write w;
  w.gather = {{bench.region.start, 64, bench.region.key}};
  bench.driver().post(Qpn(1), w);
  bench.driver().ring(Qpn(1));
  bench.run();  // flushed
  CHECK(bench.messages().size() == 1);
}

TEST_CASE("a receive doorbell is counted, and writes of another size to these registers ignored") {
  Bench bench;
  const std::uint8_t value[8] = {0, 0, 0, 1, 0, 0, 0, 1};
  bench.host.mmio(abi::kUarOffset + abi::kReceiveDoorbell, value, 8);
  bench.host.mmio(abi::kUarOffset + abi::kUarSize + abi::kReceiveDoorbell, value, 8);
  for (const std::uint64_t offset :
       {abi::kEqArm, abi::kUarOffset + abi::kCqArm, abi::kUarOffset + abi::kReceiveDoorbell})
    bench.host.mmio(offset, value, 4);
  bench.run();
  CHECK(bench.host.metric("doorbell.receive_rung") == 2);
  CHECK(bench.host.metric("doorbell.ignored") == 3);
  CHECK(bench.host.metric("doorbell.armed") == 0);
}

TEST_CASE("requests for events are not lost where send doorbells are") {
  test::BenchOptions options;
  options.nic.doorbell.depth = 1;
  options.nic.doorbell.pipeline = {Cycles(8), Cycles(400)};
  Bench bench(options);
  bench.driver().post(Qpn(1), {});
  for (int i = 0; i < 4; ++i) bench.driver().ring(Qpn(1));
  bench.driver().arm_eq(1);
  bench.driver().arm_cq(Cqn(2));
  bench.run();
  CHECK(bench.host.metric("doorbell.lost") == 3);
  CHECK(bench.host.metric("doorbell.armed") == 2);
}
