// SPDX-License-Identifier: MIT
// A send queue that drains (SQD): what has begun is finished, the rest waits.
#include <catch2/catch.hpp>

#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::QpOptions;
using test::RcBench;
using test::reliable;

namespace {

QpOptions one_read() {
  QpOptions options = reliable();
  options.max_rd_atomic = 1;
  return options;
}

struct Bench : RcBench {
  explicit Bench(const QpOptions& options = reliable()) : RcBench({}, options) {
    driver().add_eq(1);
    driver().arm_eq(1);
    run();
  }
  abi::CommandStatus drain(bool notify = true) {
    return driver().modify_qp(Qpn(1), QpState::kSqd, notify);
  }
  abi::CommandStatus go_on() { return driver().modify_qp(Qpn(1), QpState::kRts); }
  /// "type:object" of the events that software finds.
  std::string events() {
    std::string text;
    for (const abi::Eqe& event : driver().events(1))
      text += (event.type == abi::EventType::kSqDrained ? "drained:" : "other:") +
              std::to_string(event.object) + " ";
    return text;
  }
};

constexpr auto kOk = abi::CommandStatus::kOk;

}  // namespace

TEST_CASE(
    "a draining send queue sends again what it has begun, and nothing that was posted since") {
  Bench bench;
  bench.write(0, 3000);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE First 100; RDMA WRITE Middle 101; RDMA WRITE Last 102; ");
  REQUIRE(bench.drain() == kOk);
  bench.write(0, 8);
  bench.ring();
  CHECK(bench.said().empty());

  bench.give({bench.nak(101, NakCode::kPsnSequenceError)});
  CHECK(bench.said() == "RDMA WRITE Middle 101; RDMA WRITE Last 102; ");
  CHECK(bench.events().empty());
  CHECK(bench.go_on() == abi::CommandStatus::kBadState);
  CHECK(bench.drain() == abi::CommandStatus::kBadState);

  bench.give({bench.ack(102)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.events() == "drained:1 ");
  CHECK(bench.said().empty());
  CHECK(bench.state() == QpState::kSqd);
  REQUIRE(bench.go_on() == kOk);
  CHECK(bench.said() == "RDMA WRITE Only 103; ");
  bench.give({bench.ack(103)});
  CHECK(bench.completions() == "1:0 ");
  CHECK(bench.events().empty());
}

TEST_CASE("a draining send queue waits as long as a receiver is not ready, and tries again") {
  Bench bench;
  for (int i = 0; i < 2; ++i) bench.post(abi::WqeOpcode::kSend, 0, 8);
  bench.ring();
  CHECK(bench.said() == "SEND Only 100; SEND Only 101; ");
  REQUIRE(bench.drain() == kOk);
  for (int i = 0; i < 3; ++i) {
    bench.give({bench.rnr_nak(100, 1)});
    CHECK(bench.said() == "SEND Only 100; SEND Only 101; ");
  }
  bench.give({bench.ack(100), bench.rnr_nak(101, 1)});
  CHECK(bench.said() == "SEND Only 101; ");
  CHECK(bench.events().empty());
  bench.give({bench.ack(101)});
  CHECK(bench.completions() == "0:0 1:0 ");
  CHECK(bench.events() == "drained:1 ");
}

TEST_CASE("software learns that a send queue has drained behind the last completion entry") {
  Bench bench;
  for (int i = 0; i < 4; ++i) bench.write(0, 8);
  bench.ring();
  REQUIRE(bench.drain() == kOk);
  bench.host.memory.log.clear();
  bench.give({bench.ack(103)});
  std::string order;
  for (const auto& access : bench.host.memory.log) {
    if (access.purpose == DmaPurpose::kCompletionQueue) order += "entry ";
    if (access.purpose == DmaPurpose::kEventQueue) order += "event ";
    if (access.purpose == DmaPurpose::kInterrupt) order += "interrupt ";
  }
  CHECK(order == "entry entry entry entry event interrupt ");
  CHECK(bench.events() == "drained:1 ");
}

TEST_CASE("a send queue without work has drained at once, and tells so only when asked") {
  Bench bench;
  REQUIRE(bench.drain(false) == kOk);
  CHECK(bench.events().empty());
  REQUIRE(bench.go_on() == kOk);
  REQUIRE(bench.drain() == kOk);
  CHECK(bench.events() == "drained:1 ");
  REQUIRE(bench.drain() == kOk);  // from SQD to SQD it does not drain again
  CHECK(bench.events().empty());
}

TEST_CASE("a READ that max_rd_atomic holds back has not begun when its send queue drains") {
  Bench bench(one_read());
  bench.read(0, 8);
  bench.read(64, 2000);
  bench.ring();
  CHECK(bench.said() == "RDMA READ Request 100; ");
  REQUIRE(bench.drain() == kOk);
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 8)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.events() == "drained:1 ");
  CHECK(bench.said().empty());
  REQUIRE(bench.go_on() == kOk);
  CHECK(bench.said() == "RDMA READ Request 101; ");
  REQUIRE(bench.drain() == kOk);
  // The first of its two responses is lost: it is asked for again.
  bench.give({bench.answer(Opcode::kReadResponseLast, 102, 976)});
  CHECK(bench.said() == "RDMA READ Request 101; ");
  bench.give({bench.answer(Opcode::kReadResponseFirst, 101, 1024),
              bench.answer(Opcode::kReadResponseLast, 102, 976)});
  CHECK(bench.completions() == "1:0 ");
  CHECK(bench.events() == "drained:1 ");
}

TEST_CASE("a failure ends the draining: the queue pair is in error and all its work flushed") {
  Bench bench;
  for (int i = 0; i < 2; ++i) bench.write(0, 8);
  bench.ring();
  REQUIRE(bench.drain() == kOk);
  bench.write(0, 8);
  bench.ring();
  bench.give({bench.nak(100, NakCode::kRemoteAccessError)});
  CHECK(bench.completions() == "0:10 1:5 2:5 ");
  CHECK(bench.events() == "other:1 ");
  CHECK(bench.state() == QpState::kErr);
  CHECK(bench.host.nic.idle());
}
