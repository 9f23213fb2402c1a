// SPDX-License-Identifier: MIT
// Memory windows from end to end: a program on B gives windows of its region away and takes them
// back, one on A uses their keys, over drivers, PCIe, NICs and cable.
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/software_thread.h"
#include "scenarios/engine/system.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/two_servers.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::two_servers;
using Op = abi::WqeOpcode;
using Status = CompletionStatus;

namespace {

constexpr std::uint64_t kBuffer = 16384;
constexpr std::uint64_t kStart = 4000;  ///< of the window in the region: over a page's end
constexpr std::uint64_t kLength = 1000;

/// A process on each server and two queue pairs between them.
struct Pair {
  explicit Pair(const Scenario& wanted = two_servers()) : scenario(wanted) {
    run(a, [&](CpuTask& task) { create(a, task); });
    run(b, [&](CpuTask& task) { create(b, task); });
    for (std::size_t i = 0; i < 2; ++i) {
      run(b, [&](CpuTask& task) { connect(b, a, i, task); });
      run(a, [&](CpuTask& task) { connect(a, b, i, task); });
    }
  }
  struct Side {
    System::Server& server;
    Process process{*server.host};
    PdNumber pd{};
    VirtualAddress buffer{};
    MemoryRegion region{};
    CompletionQueue* cq = nullptr;
    std::array<QueuePair*, 2> qps{};
    Verbs& verbs() { return process.verbs; }
  };
  /// Runs a program on the server's first core to its end.
  void run(Side& side, const std::function<void(CpuTask&)>& body) {
    CpuCore& core = side.server.host->core(0);
    std::unique_ptr<SoftwareThread>& thread = threads.emplace_back();
    thread = std::make_unique<SoftwareThread>(system.scheduler(),
                                              "program" + std::to_string(threads.size()), [&] {
                                                CpuTask task(core, *thread);
                                                body(task);
                                                task.settle();
                                              });
    system.scheduler().run_until(system.scheduler().now() + Time::s(1));
    REQUIRE(thread->finished());
  }
  static AccessFlags all() {
    return AccessFlags(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite |
                       AccessFlags::kRemoteRead | AccessFlags::kWindowBind);
  }
  static void create(Side& side, CpuTask& task) {
    REQUIRE(side.server.host->driver(0).bring_up(task) == Errno::kOk);
    side.pd = side.verbs().alloc_pd(task);
    side.buffer = *side.process.pages.map(Bytes(kBuffer), PageSize::k4KiB);
    side.region = side.verbs().reg_mr(task, side.pd, side.buffer, kBuffer, all()).value;
    side.cq = side.verbs().create_cq(task, 64).value;
    QueuePairInit init;
    init.pd = side.pd;
    init.send_cq = init.receive_cq = side.cq;
    init.max_recv_requests = 4;
    for (QueuePair*& qp : side.qps) qp = side.verbs().create_qp(task, init).value;
  }
  static void connect(Side& side, const Side& peer, std::size_t number, CpuTask& task) {
    QueuePair* qp = side.qps[number];
    QpAttributes attributes;
    attributes.state = QpState::kInit;
    attributes.access = all();
    REQUIRE(side.verbs().modify_qp(task, qp, attributes) == Errno::kOk);
    attributes = {};
    attributes.state = QpState::kRtr;
    attributes.path_mtu = 1024;
    attributes.remote_qpn = peer.qps[number]->qpn();
    attributes.remote_ip = peer.server.ports[0].ip;
    attributes.remote_mac = peer.server.ports[0].mac;
    attributes.receive_psn = Psn(1);
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 1;
    REQUIRE(side.verbs().modify_qp(task, qp, attributes) == Errno::kOk);
    attributes = {};
    attributes.state = QpState::kRts;
    attributes.send_psn = Psn(1);
    attributes.max_rd_atomic = 4;
    attributes.ack_timeout = 4;
    attributes.retry_count = 7;
    REQUIRE(side.verbs().modify_qp(task, qp, attributes) == Errno::kOk);
  }

  // ---- What programs do -------------------------------------------------------------------------

  SendRequest on_keys(Op opcode) const {
    SendRequest request;
    request.opcode = opcode;
    return request;
  }
  SendRequest bind(MemoryKey window, std::uint64_t start = kStart,
                   std::uint64_t length = kLength) const {
    SendRequest request = on_keys(Op::kBindWindow);
    request.bind.window = window;
    request.bind.region = b.region.lkey;
    request.bind.address = VirtualAddress(b.buffer.value() + start);
    request.bind.length = length;
    request.bind.access = AccessFlags(AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead);
    return request;
  }
  SendRequest invalidate(MemoryKey key) const {
    SendRequest request = on_keys(Op::kLocalInvalidate);
    request.invalidate = key;
    return request;
  }
  /// A's WRITE (or READ) of `bytes` bytes at `offset` in B's region.
  SendRequest access(MemoryKey key, std::uint64_t offset, std::uint32_t bytes,
                     Op opcode = Op::kRdmaWrite) {
    pieces.push_back({a.buffer, bytes, a.region.lkey});
    SendRequest request;
    request.opcode = opcode;
    request.list = &pieces.back();
    request.list_length = 1;
    request.remote_address = VirtualAddress(b.buffer.value() + offset);
    request.rkey = key;
    return request;
  }
  SendRequest send_invalidate(MemoryKey key) {
    SendRequest request = access({}, 0, 100, Op::kSendInvalidate);
    request.invalidate = key;
    return request;
  }
  /// The completions of requests that are posted together, in order.
  std::vector<WorkCompletion> complete(Side& side, std::size_t qp,
                                       const std::vector<SendRequest>& requests) {
    std::vector<WorkCompletion> completions;
    run(side, [&](CpuTask& task) {
      REQUIRE(side.verbs()
                  .post_send(task, side.qps[qp], requests.data(),
                             static_cast<std::uint32_t>(requests.size()))
                  .posted == requests.size());
      while (completions.size() < requests.size()) {
        WorkCompletion done[16];
        const std::uint32_t count = side.verbs().wait_cq(task, side.cq, done, 16);
        completions.insert(completions.end(), done, done + count);
      }
    });
    return completions;
  }
  Status status(Side& side, const SendRequest& request, std::size_t qp = 0) {
    return complete(side, qp, {request}).front().status;
  }
  MemoryWindow window() {
    MemoryWindow made;
    run(b, [&](CpuTask& task) { made = b.verbs().alloc_mw(task, b.pd).value; });
    return made;
  }
  /// The window, bound by B's queue pair `qp`; returns its key.
  MemoryKey bound(std::size_t qp = 0) {
    const MemoryKey key = next(window().rkey);
    REQUIRE(status(b, bind(key), qp) == Status::kSuccess);
    return key;
  }
  static MemoryKey next(MemoryKey key) {
    return MemoryKey(key.index(), static_cast<std::uint8_t>(key.variant() + 1));
  }
  void post_receives(std::size_t qp, std::uint32_t count) {
    run(b, [&](CpuTask& task) {
      const ScatterGather place{b.buffer, 1024, b.region.lkey};
      ReceiveRequest request;
      request.list = &place;
      request.list_length = 1;
      for (std::uint32_t i = 0; i < count; ++i) {
        request.id = i;
        REQUIRE(b.verbs().post_recv(task, b.qps[qp], request) == Errno::kOk);
      }
    });
  }
  std::vector<WorkCompletion> poll_b() {
    std::vector<WorkCompletion> completions(16);
    run(b, [&](CpuTask& task) {
      completions.resize(b.verbs().poll_cq(task, b.cq, completions.data(), 16));
    });
    return completions;
  }
  std::uint64_t metric(const std::string& path) {
    test::MetricRecorder recorder;
    system.report(recorder);
    return recorder.values.at(path);
  }
  void put(Side& side, std::uint64_t offset, std::uint8_t value) {
    side.server.host->memory().store(physical(side, offset), &value, 1);
  }
  std::uint8_t get(Side& side, std::uint64_t offset) {
    std::uint8_t value = 0;
    side.server.host->memory().load(physical(side, offset), &value, 1);
    return value;
  }
  static PhysicalAddress physical(Side& side, std::uint64_t offset) {
    const VirtualAddress address(side.buffer.value() + offset);
    const PageTable::Mapping& mapping = *side.process.pages.find(address, Bytes(1));
    return PhysicalAddress(mapping.frames[mapping.page_of(address)].value() +
                           (address.value() & 4095));
  }

  Scenario scenario;
  System system{"system", scenario};
  Side a{system.server("A")};
  Side b{system.server("B")};
  std::deque<std::unique_ptr<SoftwareThread>> threads;
  std::deque<ScatterGather> pieces;
};

std::vector<Status> statuses(const std::vector<WorkCompletion>& completions) {
  std::vector<Status> out;
  for (const WorkCompletion& done : completions) out.push_back(done.status);
  return out;
}

}  // namespace

TEST_CASE("A WRITE and a READ through a window's key reach the window's whole range") {
  Pair pair;
  pair.put(pair.a, 0, 0x77);
  pair.put(pair.a, kLength - 1, 0x78);
  const MemoryKey key = pair.bound();
  CHECK(pair.status(pair.a, pair.access(key, kStart, kLength)) == Status::kSuccess);
  CHECK(pair.get(pair.b, kStart) == 0x77);
  CHECK(pair.get(pair.b, kStart + kLength - 1) == 0x78);
  pair.put(pair.b, kStart, 0x79);
  CHECK(pair.status(pair.a, pair.access(key, kStart, kLength, Op::kRdmaRead)) == Status::kSuccess);
  CHECK(pair.get(pair.a, 0) == 0x79);
  CHECK(pair.metric("host.B.nic0.key_operations.binds") == 1);
}

TEST_CASE("One byte beyond a window is refused, although the region has it") {
  Pair pair;
  const MemoryKey key = pair.bound();
  CHECK(pair.status(pair.a, pair.access(key, kStart, kLength + 1)) == Status::kRemoteAccessError);
  CHECK(pair.metric("host.B.nic0.key_checker.refused.bounds") == 1);
  CHECK(pair.status(pair.a, pair.access(pair.b.region.rkey, kStart, kLength + 1), 1) ==
        Status::kSuccess);
}

TEST_CASE("Another queue pair may not use a window's key") {
  Pair pair;
  const MemoryKey key = pair.bound(0);
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8), 1) == Status::kRemoteAccessError);
  CHECK(pair.metric("host.B.nic0.key_checker.refused.protection_domain") == 1);
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8), 0) == Status::kSuccess);
}

TEST_CASE("A window's key is no lkey") {
  Pair pair;
  const MemoryKey key = pair.bound();
  const ScatterGather piece{VirtualAddress(pair.b.buffer.value() + kStart), 8, key};
  SendRequest request = pair.access(pair.a.region.rkey, 0, 8);
  request.list = &piece;
  request.remote_address = pair.a.buffer;
  CHECK(pair.status(pair.b, request) == Status::kLocalProtectionError);
}

TEST_CASE("After an unbind the key is stale, and the window can be bound anew") {
  Pair pair;
  const MemoryKey key = pair.bound();
  REQUIRE(pair.status(pair.b, pair.bind(Pair::next(key), 0, 0)) == Status::kSuccess);
  const MemoryKey again = Pair::next(Pair::next(key));
  REQUIRE(pair.status(pair.b, pair.bind(again, 0, 64)) == Status::kSuccess);
  CHECK(pair.status(pair.a, pair.access(again, 0, 64)) == Status::kSuccess);
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8)) == Status::kRemoteAccessError);
  CHECK(pair.metric("host.B.nic0.key_checker.refused.stale_key") == 1);
}

TEST_CASE("After a local invalidate the key is stale") {
  Pair pair;
  const MemoryKey key = pair.bound();
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8)) == Status::kSuccess);
  CHECK(pair.status(pair.b, pair.invalidate(key)) == Status::kSuccess);
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8)) == Status::kRemoteAccessError);
  CHECK(pair.metric("host.B.nic0.key_checker.refused.stale_key") == 1);
  CHECK(pair.metric("host.B.nic0.key_operations.local_invalidations") == 1);
}

TEST_CASE("A SEND with invalidate lets the WRITE before it pass and not the one behind it") {
  Pair pair;
  const MemoryKey key = pair.bound();
  pair.post_receives(0, 2);
  const SendRequest write = pair.access(key, kStart, kLength);
  const SendRequest small = pair.access(key, kStart, 8);
  SendRequest send = pair.send_invalidate(key);
  const auto done = pair.complete(pair.a, 0, {write, send, small});
  CHECK(statuses(done) ==
        std::vector<Status>{Status::kSuccess, Status::kSuccess, Status::kRemoteAccessError});
  CHECK(pair.metric("host.B.nic0.key_checker.refused.stale_key") == 1);
  CHECK(pair.metric("host.B.nic0.key_operations.remote_invalidations") == 1);
  const auto received = pair.poll_b();
  REQUIRE(received.size() == 2);
  CHECK(received[0].status == Status::kSuccess);
  CHECK(received[0].flags == WorkCompletion::kWithInvalidate);
  CHECK(received[0].invalidated == key);
  CHECK(received[0].bytes == 100);
  CHECK(received[1].status == Status::kFlushed);
}

TEST_CASE("A SEND that may not invalidate is acknowledged; its receive and queue pair fail") {
  Pair pair;
  const MemoryKey key = pair.bound(1);
  pair.post_receives(0, 2);
  CHECK(pair.status(pair.a, pair.send_invalidate(key)) == Status::kSuccess);
  CHECK(statuses(pair.poll_b()) ==
        std::vector<Status>{Status::kRemoteInvalidRequest, Status::kFlushed});
  CHECK(pair.status(pair.a, pair.access(pair.b.region.rkey, 0, 8)) == Status::kRetryExceeded);
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8), 1) == Status::kSuccess);
  CHECK(pair.metric("host.B.nic0.key_operations.refused.other_queue_pair") == 1);
}

TEST_CASE("A bind that is refused fails with its own status, and what is behind it is flushed") {
  Pair pair;
  const MemoryKey key = Pair::next(pair.window().rkey);
  const auto done = pair.complete(
      pair.b, 0,
      {pair.on_keys(Op::kNop), pair.bind(key, 0, kBuffer + 1), pair.bind(key), pair.bind(key)});
  CHECK(statuses(done) == std::vector<Status>{Status::kSuccess, Status::kMemoryWindowBindError,
                                              Status::kFlushed, Status::kFlushed});
  CHECK(pair.metric("host.B.nic0.key_operations.refused.bounds") == 1);
  CHECK(pair.metric("host.B.nic0.key_operations.binds") == 0);
}

TEST_CASE("The key of a region is not invalidated") {
  Pair pair;
  CHECK(pair.status(pair.b, pair.invalidate(pair.b.region.rkey)) == Status::kLocalQpOperationError);
  CHECK(pair.status(pair.a, pair.access(pair.b.region.rkey, 0, 8), 1) == Status::kSuccess);
}

TEST_CASE("What follows a bind on its queue pair starts when the bind is done") {
  Pair pair;
  const MemoryKey key = Pair::next(pair.window().rkey);
  // Bind, tell, take back, bind elsewhere: each needs the one before to be done.
  const MemoryKey later = Pair::next(key);
  SendRequest write = pair.access(pair.a.region.rkey, 0, 8);
  const ScatterGather piece{pair.b.buffer, 8, pair.b.region.lkey};
  write.list = &piece;
  write.remote_address = pair.a.buffer;
  const auto done = pair.complete(
      pair.b, 0, {pair.bind(key), write, pair.invalidate(key), pair.bind(later, 0, 64), write});
  CHECK(statuses(done) == std::vector<Status>(5, Status::kSuccess));
  CHECK(done[0].opcode == WcOpcode::kBindWindow);
  CHECK(done[2].opcode == WcOpcode::kLocalInvalidate);
  CHECK(pair.status(pair.a, pair.access(later, 0, 64)) == Status::kSuccess);
}

TEST_CASE("A local invalidate waits for the READ before it, a bind does not") {
  Pair pair;
  const MemoryKey key = pair.bound();
  const ScatterGather piece{pair.b.buffer, 8, pair.b.region.lkey};
  SendRequest read = pair.access(pair.a.region.rkey, 0, 8, Op::kRdmaRead);
  read.list = &piece;
  read.remote_address = pair.a.buffer;
  const MemoryKey other = Pair::next(pair.window().rkey);
  CHECK(statuses(pair.complete(pair.b, 0, {read, pair.bind(other)})) ==
        std::vector<Status>(2, Status::kSuccess));
  CHECK(pair.metric("host.B.nic0.requester.fenced") == 0);
  CHECK(statuses(pair.complete(pair.b, 0, {read, pair.invalidate(key)})) ==
        std::vector<Status>(2, Status::kSuccess));
  CHECK(pair.metric("host.B.nic0.requester.fenced") == 1);
}

TEST_CASE("A bind and an invalidate whose queue pair goes back are not done again") {
  Scenario scenario = two_servers();
  FaultRule loss;
  loss.direction = FaultDirection::kBackward;
  loss.psn = 1;
  loss.count = 1;
  scenario.fabric.link.faults = {loss};
  Pair pair(scenario);
  const MemoryKey key = Pair::next(pair.window().rkey);
  SendRequest write = pair.access(pair.a.region.rkey, 0, 8);
  const ScatterGather piece{pair.b.buffer, 8, pair.b.region.lkey};
  write.list = &piece;
  write.remote_address = pair.a.buffer;
  const auto done = pair.complete(
      pair.b, 0, {write, pair.bind(key), pair.invalidate(key), pair.bind(Pair::next(key)), write});
  CHECK(statuses(done) == std::vector<Status>(5, Status::kSuccess));
  CHECK(pair.metric("host.B.nic0.retransmitter.packets_again") == 2);
  CHECK(pair.metric("host.B.nic0.key_operations.binds") == 2);
  CHECK(pair.metric("host.B.nic0.key_operations.local_invalidations") == 1);
  CHECK(pair.status(pair.a, pair.access(Pair::next(key), kStart, 8)) == Status::kSuccess);
}

TEST_CASE("A region with a window is not deregistered: EBUSY, and all keys go on working") {
  Pair pair;
  const MemoryKey key = pair.bound();
  const auto deregister = [&] {
    Errno error = Errno::kOk;
    pair.run(pair.b, [&](CpuTask& task) { error = pair.b.verbs().dereg_mr(task, pair.b.region); });
    return error;
  };
  CHECK(deregister() == Errno::kBusy);
  CHECK(pair.status(pair.a, pair.access(pair.b.region.rkey, 0, 8)) == Status::kSuccess);
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8)) == Status::kSuccess);
  REQUIRE(pair.status(pair.b, pair.invalidate(key)) == Status::kSuccess);
  CHECK(deregister() == Errno::kOk);
  CHECK(pair.status(pair.a, pair.access(pair.b.region.rkey, 0, 8)) == Status::kRemoteAccessError);
}

TEST_CASE("A window that is deallocated while it is bound is gone, and its region may go") {
  Pair pair;
  const MemoryKey key = pair.bound();
  pair.run(pair.b, [&](CpuTask& task) {
    REQUIRE(pair.b.verbs().dealloc_mw(task, {key, pair.b.pd}) == Errno::kOk);
    REQUIRE(pair.b.verbs().dereg_mr(task, pair.b.region) == Errno::kOk);
  });
  CHECK(pair.status(pair.a, pair.access(key, kStart, 8)) == Status::kRemoteAccessError);
  CHECK(pair.metric("host.B.nic0.key_checker.refused.stale_key") == 1);
}
