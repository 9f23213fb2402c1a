// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <vector>

#include "model/byte_order.h"
#include "tests/support/verbs_session.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using ByteVector = std::vector<std::uint8_t>;

namespace {

struct ReceiveSession : test::Session {
  explicit ReceiveSession(std::uint32_t segments = 1) {
    init.max_recv_requests = 4;
    init.max_recv_segments = segments;
  }
  ScatterGather pieces[5];
  ReceiveRequest receive(std::uint64_t id, std::uint32_t count, std::uint32_t length = 16) {
    for (std::uint32_t i = 0; i < count; ++i)
      pieces[i] = {VirtualAddress(buffer.value() + 256 * i), length, MemoryKey(0x700 + i)};
    return {id, pieces, count};
  }
  abi::Cqe cqe(abi::CqeOpcode opcode, std::uint32_t bytes) const {
    abi::Cqe made;
    made.opcode = opcode;
    made.byte_count = bytes;
    return made;
  }
  WorkCompletion poll(CpuTask& task) {
    WorkCompletion done;
    REQUIRE(host.verbs.poll_cq(task, cq, &done, 1) == 1);
    return done;
  }
};

}  // namespace

TEST_CASE("Receives go into the ring and the doorbell record, without an MMIO store") {
  ReceiveSession s(3);
  s.run([&](CpuTask& task) {
    s.host.nic.mmio.clear();
    const ReceiveRequest list[2] = {s.receive(1, 2), {2, nullptr, 0}};
    const Time before = task.now();
    REQUIRE(s.host.verbs.post_recv(task, s.qp, list, 2).posted == 2);
    // 70 + 2 x 7, 70, and 35 for the record, in cycles of 1 ns.
    REQUIRE(task.now() - before == 189_ns);
    REQUIRE(s.host.scheduler.now() == task.now());
    REQUIRE(s.host.nic.mmio.empty());
    REQUIRE(s.host.nic.load_u32(s.qp->doorbell_record()) == 2);

    // Three segments are asked for, the ring has four.
    const ByteVector first =
        s.host.nic.deliver(s.qp->qpn(), s.cqe(abi::CqeOpcode::kResponseSend, 32));
    REQUIRE(first.size() == 64);
    REQUIRE(abi::DataSegment::read(&first[0]).address == s.buffer);
    REQUIRE(abi::DataSegment::read(&first[16]).lkey == MemoryKey(0x701));
    REQUIRE(abi::DataSegment::read(&first[32]).lkey == abi::kEndOfList);
    const ByteVector second =
        s.host.nic.deliver(s.qp->qpn(), s.cqe(abi::CqeOpcode::kResponseSend, 0));
    REQUIRE(abi::DataSegment::read(&second[0]).lkey == abi::kEndOfList);
    REQUIRE(abi::DataSegment::read(&second[0]).byte_count == 0);
    REQUIRE(s.poll(task).id == 1);
    REQUIRE(s.poll(task).id == 2);
    REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(3, 5)) == Errno::kInvalid);
  });
}

TEST_CASE("A full receive queue refuses until a receive has completed") {
  ReceiveSession s;
  s.run([&](CpuTask& task) {
    std::vector<ReceiveRequest> list;
    for (std::uint64_t i = 0; i < 5; ++i) list.push_back(s.receive(i, 1));
    const auto result = s.host.verbs.post_recv(task, s.qp, list.data(), 5);
    REQUIRE(result.posted == 4);
    REQUIRE(result.error == Errno::kNoMemory);
    REQUIRE(s.qp->receives()->free_entries() == 0);
    for (std::uint64_t i = 4; i < 70000; ++i) {  // past the wrap of the 16 bit number
      s.host.nic.deliver(s.qp->qpn(), s.cqe(abi::CqeOpcode::kResponseSend, 16));
      REQUIRE(s.poll(task).id == i - 4);
      REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(i, 1)) == Errno::kOk);
      REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(i, 1)) == Errno::kNoMemory);
    }
    REQUIRE(s.host.nic.load_u32(s.qp->doorbell_record()) == 70000);
  });
}

TEST_CASE("A receive's completion says what came, from whom and with what") {
  using Op = abi::CqeOpcode;
  ReceiveSession s;
  s.run([&](CpuTask& task) {
    for (std::uint64_t i = 0; i < 4; ++i)
      REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(i, 1)) == Errno::kOk);
    abi::Cqe imm = s.cqe(Op::kResponseSendImm, 12);
    imm.immediate = 0x01020304;
    imm.source_qpn = Qpn(0x99);
    imm.flags = abi::Cqe::kGrh;
    s.host.nic.deliver(s.qp->qpn(), imm);
    WorkCompletion done = s.poll(task);
    REQUIRE(done.id == 0);
    REQUIRE(done.opcode == WcOpcode::kReceive);
    REQUIRE(done.status == CompletionStatus::kSuccess);
    REQUIRE(done.bytes == 12);
    REQUIRE(done.immediate == 0x01020304);
    REQUIRE(done.source_qpn == Qpn(0x99));
    REQUIRE(done.flags == (WorkCompletion::kWithImmediate | WorkCompletion::kGrh));
    REQUIRE(done.qpn == s.qp->qpn());
    REQUIRE_FALSE(done.work_request);

    imm.opcode = Op::kResponseWriteImm;
    imm.flags = 0;
    s.host.nic.deliver(s.qp->qpn(), imm);
    done = s.poll(task);
    REQUIRE(done.opcode == WcOpcode::kReceiveRdmaWithImmediate);
    REQUIRE(done.flags == WorkCompletion::kWithImmediate);

    imm.opcode = Op::kResponseSendInvalidate;
    s.host.nic.deliver(s.qp->qpn(), imm);
    done = s.poll(task);
    REQUIRE(done.flags == WorkCompletion::kWithInvalidate);
    REQUIRE(done.invalidated == MemoryKey(0x01020304));

    s.host.nic.deliver(s.qp->qpn(), s.cqe(Op::kResponseSend, 16));
    done = s.poll(task);
    REQUIRE(done.flags == 0);
    REQUIRE(done.immediate == 0);
    REQUIRE(done.id == 3);
  });
}

TEST_CASE("Data that came in the completion are copied by the CPU to where the receive says") {
  ReceiveSession s(2);
  s.init.inline_receive = true;
  s.run([&](CpuTask& task) {
    REQUIRE((s.host.nic.qp(s.qp->qpn()).flags & abi::QpContext::kInlineReceive) != 0);
    for (std::uint64_t i = 0; i < 3; ++i)
      REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(i, 2, 10)) == Errno::kOk);
    abi::Cqe cqe = s.cqe(abi::CqeOpcode::kResponseSend, 17);
    cqe.flags = abi::Cqe::kInlineData;
    for (std::uint8_t i = 0; i < 32; ++i) cqe.inline_data[i] = static_cast<std::uint8_t>(i + 1);
    s.host.nic.deliver(s.qp->qpn(), cqe);
    const Time before = task.now();
    REQUIRE(s.poll(task).status == CompletionStatus::kSuccess);
    // One look, one entry, 17 B at 8 B a cycle.
    REQUIRE(task.now() - before == 73_ns);
    REQUIRE(s.host.usage.cycles(CpuPlane::kData, CpuCategory::kCopying) == 3_cycles);
    ByteVector got(17);
    s.host.pages.load(s.buffer, got.data(), 10);
    s.host.pages.load(VirtualAddress(s.buffer.value() + 256), got.data() + 10, 7);
    REQUIRE(got == ByteVector(cqe.inline_data.begin(), cqe.inline_data.begin() + 17));

    cqe.byte_count = 21;
    s.host.nic.deliver(s.qp->qpn(), cqe);
    REQUIRE(s.poll(task).status == CompletionStatus::kLocalLengthError);
    s.host.pages.unmap(s.buffer);
    s.host.nic.deliver(s.qp->qpn(), cqe);
    REQUIRE(s.poll(task).status == CompletionStatus::kLocalProtectionError);
  });
}

TEST_CASE(
    "Once an error was polled, the receive doorbell is rung: for what is there and for more") {
  ReceiveSession s;
  s.run([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(1, 1)) == Errno::kOk);
    s.host.nic.status = CompletionStatus::kRetryExceeded;
    REQUIRE(s.host.verbs.post_send(task, s.qp, s.write(9, 64)) == Errno::kOk);
    s.host.nic.mmio.clear();
    WorkCompletion done;
    REQUIRE(s.host.verbs.wait_cq(task, s.cq, &done, 1) == 1);
    REQUIRE(done.status == CompletionStatus::kRetryExceeded);
    REQUIRE(s.host.nic.mmio.size() == 1);
    REQUIRE(s.host.nic.mmio[0].offset == 0x1040);
    REQUIRE(s.host.nic.mmio[0].at == task.now());
    const auto qpn = static_cast<std::uint8_t>(s.qp->qpn().value());
    REQUIRE(s.host.nic.mmio[0].data == ByteVector{0, 0, 0, qpn, 0, 0, 0, 1});

    REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(2, 1)) == Errno::kOk);
    REQUIRE(s.host.nic.mmio.size() == 2);
    REQUIRE(s.host.nic.mmio[1].data == ByteVector{0, 0, 0, qpn, 0, 0, 0, 2});
    for (std::uint64_t id = 1; id <= 2; ++id) {
      abi::Cqe flushed = s.cqe(abi::CqeOpcode::kResponseError, 0);
      flushed.status = CompletionStatus::kFlushed;
      s.host.nic.deliver(s.qp->qpn(), flushed);
      done = s.poll(task);
      REQUIRE(done.status == CompletionStatus::kFlushed);
      REQUIRE(done.id == id);
      REQUIRE(done.opcode == WcOpcode::kReceive);
    }
    REQUIRE(s.host.nic.mmio.size() == 2);
  });
}

TEST_CASE("RESET empties the receive queue, in the library, in the record and in the context") {
  ReceiveSession s;
  s.run([&](CpuTask& task) {
    for (std::uint64_t i = 0; i < 4; ++i)
      REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(i, 1)) == Errno::kOk);
    s.host.nic.deliver(s.qp->qpn(), s.cqe(abi::CqeOpcode::kResponseSend, 16));
    s.poll(task);
    QpAttributes reset;
    reset.state = QpState::kReset;
    REQUIRE(s.host.verbs.modify_qp(task, s.qp, reset) == Errno::kOk);
    REQUIRE(s.host.nic.load_u32(s.qp->doorbell_record()) == 0);
    REQUIRE(s.host.nic.qp(s.qp->qpn()).receive_consumer == 0);
    REQUIRE(s.qp->receives()->free_entries() == 4);
    s.to_rts(task, s.qp);
    REQUIRE(s.host.verbs.post_recv(task, s.qp, s.receive(7, 1)) == Errno::kOk);
    s.host.nic.deliver(s.qp->qpn(), s.cqe(abi::CqeOpcode::kResponseSend, 16));
    REQUIRE(s.poll(task).id == 7);
  });
}

TEST_CASE("A queue pair made without a receive queue takes no receives") {
  test::Session s;
  s.run([&](CpuTask& task) {
    REQUIRE(s.host.verbs.post_recv(task, s.qp, ReceiveRequest{}) == Errno::kInvalid);
    REQUIRE(s.host.nic.qp(s.qp->qpn()).flags == 0);
  });
}
