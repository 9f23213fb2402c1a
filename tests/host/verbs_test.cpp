// SPDX-License-Identifier: MIT
#include "host/verbs.h"

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "tests/support/verbs_session.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using test::Session;
using ByteVector = std::vector<std::uint8_t>;

TEST_CASE(
    "A WRITE is a control, a remote address and a data segment, then zeros to its block's end") {
  Session s;
  s.run([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(1, 0x12345)) == Errno::kOk);
    WorkCompletion done;
    REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
  });
  const std::uint64_t va = s.buffer.value();
  ByteVector expected = {0,    0,    0,    0x08, 0,    0,    2,    3,
                         0,    0,    0,    0x08, 0,    0,    0,    0,      // control
                         0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,   // remote address
                         0x99, 0xaa, 0xbb, 0x02, 0,    0,    0,    0,      // rkey
                         0,    1,    0x23, 0x45, 0,    0xab, 0xcd, 0x01};  // length, lkey
  for (int shift = 56; shift >= 0; shift -= 8)
    expected.push_back(static_cast<std::uint8_t>(va >> shift));
  expected.resize(64);
  REQUIRE(s.host.nic.wqes == std::vector<ByteVector>{expected});
}

TEST_CASE("One post is one 8 B doorbell with the last entry's head, and the doorbell record") {
  Session s;
  s.run([&](CpuTask& task) {
    s.host.nic.mmio.clear();
    SendRequest list[3] = {s.write(1, 64), s.write(2, 64), s.write(3, 64)};
    const auto result = s.host.verbs.post_send(task, s.qp, list, 3);
    REQUIRE(result.posted == 3);
    REQUIRE(s.host.nic.mmio.size() == 1);
    REQUIRE(s.host.nic.mmio[0].offset == 0x1800);
    REQUIRE(s.host.nic.mmio[0].data == ByteVector{0, 0, 2, 0x08, 0, 0, 2, 3});
    REQUIRE(s.host.nic.mmio[0].at == s.host.scheduler.now());
    const auto record = s.qp->doorbell_record().value();
    REQUIRE(s.host.nic.load_u32(PhysicalAddress(record + 4)) == 3);
    REQUIRE(s.host.nic.load_u32(PhysicalAddress(record)) == 0);
  });
  REQUIRE(s.host.nic.wqes.size() == 3);
}

TEST_CASE("Inline data up to 28 B stay in one block, 29 B take two") {
  Session s;
  s.run([&](CpuTask& task) {
    ByteVector data(29);
    for (std::uint8_t i = 0; i < 29; ++i) data[i] = static_cast<std::uint8_t>(0xc0 + i);
    s.host.pages.store(s.buffer, data.data(), data.size());
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(1, 28, true)) == Errno::kOk);
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(2, 29, true)) == Errno::kOk);
    WorkCompletion done;
    for (int i = 0; i < 2; ++i) REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
    REQUIRE(s.host.nic.wqes.size() == 2);
    const ByteVector& one = s.host.nic.wqes[0];
    const ByteVector& two = s.host.nic.wqes[1];
    REQUIRE(one.size() == 64);
    REQUIRE(one[7] == 4);
    REQUIRE(ByteVector(one.begin() + 32, one.begin() + 36) == ByteVector{0x80, 0, 0, 28});
    REQUIRE(ByteVector(one.begin() + 36, one.end()) == ByteVector(data.begin(), data.end() - 1));
    REQUIRE(two.size() == 128);
    REQUIRE(two[7] == 5);
    REQUIRE(two[64] == data[28]);
    REQUIRE(ByteVector(two.begin() + 65, two.end()) == ByteVector(63));
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(3, 221, true)) == Errno::kInvalid);
  });
}

TEST_CASE("An entry that reaches the end of the ring goes on at its begin") {
  Session s;
  s.run([&](CpuTask& task) {
    ByteVector data(60);
    for (std::uint8_t i = 0; i < 60; ++i) data[i] = static_cast<std::uint8_t>(i + 1);
    s.host.pages.store(s.buffer, data.data(), data.size());
    WorkCompletion done;
    for (std::uint64_t i = 0; i < 3; ++i) {
      REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(i, 64)) == Errno::kOk);
      REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
    }
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(9, 60, true)) == Errno::kOk);
    ByteVector block(64);
    s.host.memory.load(s.qp->block_address(3), block.data(), 64);
    REQUIRE(ByteVector(block.begin() + 36, block.end()) ==
            ByteVector(data.begin(), data.begin() + 28));
    s.host.memory.load(s.qp->block_address(4), block.data(), 64);
    REQUIRE(s.qp->block_address(4) == s.qp->block_address(0));
    REQUIRE(ByteVector(block.begin(), block.begin() + 32) ==
            ByteVector(data.begin() + 28, data.end()));
    REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
    REQUIRE(done.id == 9);
    // Block indices and request numbers go their own ways.
    REQUIRE(s.qp->producer() == 5);
    REQUIRE(done.work_request == WorkRequestId(3, s.qp->qpn(), 3));
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(10, 64)) == Errno::kOk);
    REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
    REQUIRE(done.work_request == WorkRequestId(3, s.qp->qpn(), 4));
  });
  REQUIRE(s.host.nic.wqes.size() == 5);
  REQUIRE(s.host.nic.wqes[4][2] == 5);
}

TEST_CASE("A full send queue refuses; only completions make room, for unsignaled entries too") {
  Session s;
  s.run([&](CpuTask& task) {
    std::vector<SendRequest> list;
    for (std::uint64_t i = 0; i < 5; ++i) {
      list.push_back(s.write(i, 64));
      list.back().signaled = i == 2;
    }
    const auto result = s.host.verbs.post_send(task, s.qp, list.data(), 5);
    REQUIRE(result.posted == 4);
    REQUIRE(result.error == Errno::kNoMemory);
    REQUIRE(s.qp->free_blocks() == 0);
    WorkCompletion done[4];
    REQUIRE(s.host.verbs.wait_cq(task, s.cq, done, 4) == 1);
    REQUIRE(done[0].id == 2);
    REQUIRE(s.qp->free_blocks() == 3);
    REQUIRE(s.host.nic.wqes.size() == 4);
    REQUIRE(s.host.verbs.post_send(task, s.qp, list.data(), 5).posted == 3);
  });
}

TEST_CASE("Owner bits keep their sense over many laps of the completion queue") {
  Session s;
  s.run([&](CpuTask& task) {
    WorkCompletion done[4];
    std::uint64_t next = 0;
    for (std::uint64_t round = 0; round < 50; ++round) {
      const std::uint64_t batch = 1 + round % 4;
      for (std::uint64_t i = 0; i < batch; ++i)
        REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(next + i, 64)) == Errno::kOk);
      std::uint64_t taken = 0;
      while (taken < batch) {
        const std::uint32_t n = s.host.verbs.wait_cq(task, s.cq, done, 4);
        for (std::uint32_t i = 0; i < n; ++i) REQUIRE(done[i].id == next + taken + i);
        taken += n;
      }
      next += batch;
      REQUIRE(s.host.verbs.poll_cq(task, s.cq, done, 4) == 0);
    }
    REQUIRE(s.cq->consumer() == next);
    REQUIRE(s.host.nic.load_u32(s.cq->doorbell_record()) == next);
  });
}

TEST_CASE("A failed entry completes with its status, signaled or not") {
  Session s;
  s.run([&](CpuTask& task) {
    s.host.nic.status = CompletionStatus::kRemoteAccessError;
    SendRequest request = s.write(42, 4096);
    request.signaled = false;
    REQUIRE(s.host.verbs.post_send(task, s.qp, request) == Errno::kOk);
    WorkCompletion done;
    REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
    REQUIRE(done.id == 42);
    REQUIRE(done.status == CompletionStatus::kRemoteAccessError);
    REQUIRE(done.bytes == 4096);
    REQUIRE(done.opcode == WcOpcode::kRdmaWrite);
    REQUIRE(s.host.verbs.query_qp_state(task, s.qp).value == QpState::kErr);
    QpAttributes reset;
    reset.state = QpState::kReset;
    REQUIRE(s.host.verbs.modify_qp(task, s.qp, reset) == Errno::kOk);
    REQUIRE(s.qp->producer() == 0);
    REQUIRE(s.qp->free_blocks() == 4);
  });
  const auto polled = s.host.probes.of(ProbeKind::kCompletionPolled);
  REQUIRE(polled.size() == 1);
  REQUIRE(polled[0].a == static_cast<std::uint64_t>(CompletionStatus::kRemoteAccessError));
  REQUIRE(polled[0].work_request == WorkRequestId(3, s.qp->qpn(), 0));
}

TEST_CASE("Posting 1 GiB costs exactly what posting 64 B costs, and no copy") {
  Session s;
  std::vector<Time> spent;
  s.run([&](CpuTask& task) {
    for (const std::uint32_t length : {64u, 1u << 30}) {
      const Time before = task.now();
      REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(1, length)) == Errno::kOk);
      spent.push_back(task.now() - before);
    }
  });
  REQUIRE(spent == std::vector<Time>{252_ns, 252_ns});  // 105 + 7 + 140 cycles of 1 ns
  const auto posts = s.host.probes.of(ProbeKind::kPostSend);
  const auto doorbells = s.host.probes.of(ProbeKind::kDoorbellRung);
  REQUIRE(posts.size() == 2);
  REQUIRE(posts[1].b == 1u << 30);
  REQUIRE(posts[1].time.ps() - static_cast<std::int64_t>(posts[1].a) == 112000);
  REQUIRE(doorbells[0].b == 252);
  REQUIRE(doorbells[1].b == 252);
  REQUIRE(s.host.usage.time(CpuPlane::kData, CpuCategory::kCopying) == 0_ns);
}

TEST_CASE("Inline data cost their copy and their segments, counted in the whole post") {
  Session s;
  s.run([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(1, 20, true)) == Errno::kOk);
  });
  // 105 + 2 x 4 to post, 20 B at 8 B a cycle to copy, 140 for the doorbell.
  REQUIRE(s.host.usage.cycles(CpuPlane::kData, CpuCategory::kPosting) == 113_cycles);
  REQUIRE(s.host.usage.cycles(CpuPlane::kData, CpuCategory::kCopying) == 3_cycles);
  REQUIRE(s.host.probes.of(ProbeKind::kDoorbellRung).at(0).b == 256);
}

TEST_CASE("A message of 2 GiB is described by two segments, and none may be longer") {
  Session s;
  s.run([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(1, 1u << 31)) == Errno::kOk);
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(2, (1u << 31) + 1)) == Errno::kInvalid);
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(3, 0)) == Errno::kOk);
  });
  REQUIRE(s.host.nic.wqes.size() == 2);
  REQUIRE(s.host.nic.wqes[0][7] == 4);
  REQUIRE(abi::DataSegment::read(&s.host.nic.wqes[0][48]).address ==
          VirtualAddress(s.buffer.value() + (1u << 30)));
  REQUIRE(s.host.nic.wqes[1][7] == 2);  // an empty message has no data segment
}

TEST_CASE("Waiting for a completion finds it at the first poll after it is visible") {
  Session s;
  s.run([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(1, 64)) == Errno::kOk);
    const Time rung = s.host.scheduler.now();
    WorkCompletion done;
    REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
    // Visible after 100 + 500 ns; polls of 35 ns: the 18th begins at 630.
    REQUIRE(s.host.scheduler.now() == rung + 630_ns);
    REQUIRE(task.now() == rung + 630_ns + 35_ns + 35_ns);
  });
}

TEST_CASE("What the library cannot post is refused before anything is written") {
  Session s;
  s.run([&](CpuTask& task) {
    SendRequest request = s.write(1, 16, true);
    request.opcode = abi::WqeOpcode::kRdmaRead;
    REQUIRE(s.host.verbs.post_send(task, s.qp, request) == Errno::kInvalid);
    request = s.write(1, 16, true);
    s.piece.address = VirtualAddress(16);
    REQUIRE(s.host.verbs.post_send(task, s.qp, request) == Errno::kFault);
    REQUIRE(s.qp->free_blocks() == 4);
    REQUIRE(s.host.verbs.destroy_qp(task, s.qp) == Errno::kOk);
    REQUIRE(s.host.verbs.destroy_cq(task, s.cq) == Errno::kOk);
  });
  REQUIRE(s.host.nic.wqes.empty());
}

TEST_CASE("BlueFlame stores a lone entry of up to 256 B whole, a line of 64 B after the other") {
  VerbsConfig verbs;
  verbs.blue_flame = true;
  Session s(verbs);
  s.requests = s.cq_entries = 16;
  s.run([&](CpuTask& task) {
    std::uint16_t block = 0;
    for (const std::uint32_t payload : {28U, 29U, 92U, 93U, 220U}) {
      const std::uint32_t lines = (36 + payload + 63) / 64;
      s.host.nic.mmio.clear();
      REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(1, payload, true)) == Errno::kOk);
      REQUIRE(s.host.nic.mmio.size() == lines);
      for (std::uint32_t i = 0; i < lines; ++i) {
        ByteVector ring(64);
        s.host.memory.load(s.qp->block_address(block++), ring.data(), ring.size());
        CHECK(s.host.nic.mmio[i].offset == 0x1800 + 64 * i);
        CHECK(s.host.nic.mmio[i].data == ring);
        CHECK(s.host.nic.mmio[i].at == s.host.nic.mmio[0].at);
      }
    }
  });
  REQUIRE(s.host.nic.wqes.size() == 5);
}

TEST_CASE("BlueFlame is not for a list, nor for an entry of more than 256 B") {
  VerbsConfig verbs;
  verbs.blue_flame = true;
  Session s(verbs);
  s.requests = 16;
  s.run([&](CpuTask& task) {
    s.host.nic.mmio.clear();
    const SendRequest list[2] = {s.write(1, 8, true), s.write(2, 8, true)};
    REQUIRE(s.host.verbs.post_send(task, s.qp, list, 2).posted == 2);
    SendRequest long_one = s.write(3, 1);
    std::vector<ScatterGather> pieces(15, *long_one.list);
    long_one.list = pieces.data();
    long_one.list_length = 15;  // 2 + 15 segments
    REQUIRE(s.host.verbs.post_send(task, s.qp, long_one) == Errno::kOk);
    REQUIRE(s.host.nic.mmio.size() == 2);
    CHECK(s.host.nic.mmio[0].data.size() == 8);
    CHECK(s.host.nic.mmio[1].data.size() == 8);
  });
  REQUIRE(s.host.nic.wqes.size() == 3);
}
