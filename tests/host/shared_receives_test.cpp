// SPDX-License-Identifier: MIT
#include "host/shared_receives.h"

#include <catch2/catch.hpp>

#include "tests/support/verbs_session.h"

using namespace rnicsim;

namespace {

abi::Cqe sent(std::uint32_t bytes) {
  abi::Cqe cqe;
  cqe.opcode = abi::CqeOpcode::kResponseSend;
  cqe.byte_count = bytes;
  return cqe;
}

}  // namespace

TEST_CASE("A shared receive queue has a context, a ring and a record, and gives them back") {
  test::SoftwareHost host;
  REQUIRE(host.run([&](CpuTask& task) {
    REQUIRE(host.driver.bring_up(task) == Errno::kOk);
    REQUIRE(host.nic.tables.log_srqs == 10);
    const Bytes before = host.frames.kernel_in_use();
    SharedReceives& srqs = host.driver.shared_receives();
    const SrqRings rings = srqs.create(task, PdNumber(6), 5, 2).value;
    const abi::SrqContext context = host.nic.srq_context(rings.srqn);
    REQUIRE(context.valid);
    REQUIRE(context.pd == PdNumber(6));
    REQUIRE(context.log_entries == 5);
    REQUIRE(context.log_segments == 2);
    REQUIRE(context.ring == rings.receive.ring);
    REQUIRE(context.doorbell_record == rings.receive.doorbell_record);
    REQUIRE(host.nic.commands.back().opcode == abi::CommandOpcode::kCreateSrq);

    REQUIRE(srqs.arm(task, rings.srqn, 33) == Errno::kInvalid);
    REQUIRE(srqs.arm(task, rings.srqn, 32) == Errno::kOk);
    REQUIRE(host.nic.commands.back().opcode == abi::CommandOpcode::kArmSrq);
    REQUIRE(host.nic.srq_context(rings.srqn).limit == 32);
    REQUIRE(host.nic.srq_context(rings.srqn).ring == rings.receive.ring);

    REQUIRE(srqs.destroy(task, rings.srqn) == Errno::kOk);
    REQUIRE_FALSE(host.nic.srq_context(rings.srqn).valid);
    REQUIRE(srqs.destroy(task, rings.srqn) == Errno::kInvalid);
    REQUIRE(srqs.arm(task, rings.srqn, 1) == Errno::kInvalid);
    REQUIRE(host.frames.kernel_in_use() == before);
    REQUIRE(srqs.create(task, PdNumber(6), 16, 0).error == Errno::kInvalid);
    REQUIRE(srqs.create(task, PdNumber(6), 5, 6).error == Errno::kInvalid);
    host.nic.next_command = abi::CommandStatus::kBadObject;
    REQUIRE(srqs.create(task, PdNumber(6), 5, 2).error == Errno::kIo);
    REQUIRE(host.frames.kernel_in_use() == before);
  }));
}

TEST_CASE("Queue pairs share the receives; a place is free when all before it have completed") {
  test::Session s;
  s.run([&](CpuTask& task) {
    Verbs& verbs = s.host.verbs;
    SharedReceiveQueue* srq = verbs.create_srq(task, s.init.pd, 4).value;
    s.init.srq = srq;
    s.init.max_recv_requests = 64;  // of no meaning then
    QueuePair* a = verbs.create_qp(task, s.init).value;
    QueuePair* b = verbs.create_qp(task, s.init).value;
    s.to_rts(task, a);
    s.to_rts(task, b);
    REQUIRE(s.host.nic.qp(a->qpn()).srqn == srq->srqn());
    REQUIRE((s.host.nic.qp(a->qpn()).flags & abi::QpContext::kHasReceiveQueue) == 0);
    REQUIRE(verbs.post_recv(task, a, ReceiveRequest{}) == Errno::kInvalid);
    REQUIRE(verbs.destroy_srq(task, srq) == Errno::kBusy);

    ReceiveRequest list[5];
    for (std::uint64_t i = 0; i < 5; ++i) list[i].id = 100 + i;
    const auto posted = verbs.post_srq_recv(task, srq, list, 5);
    REQUIRE(posted.posted == 4);
    REQUIRE(posted.error == Errno::kNoMemory);
    // a's message began first and ends last.
    const auto first = s.host.nic.take_receive(a->qpn());
    for (const QueuePair* qp : {b, a}) s.host.nic.deliver(qp->qpn(), sent(1));
    WorkCompletion done[4];
    REQUIRE(verbs.poll_cq(task, s.cq, done, 4) == 2);
    REQUIRE(done[0].id == 101);
    REQUIRE(done[0].qpn == b->qpn());
    REQUIRE(done[1].id == 102);
    REQUIRE(done[1].qpn == a->qpn());
    REQUIRE(verbs.post_srq_recv(task, srq, list, 1).error == Errno::kNoMemory);
    s.host.nic.complete_receive(a->qpn(), first, sent(9));
    REQUIRE(verbs.poll_cq(task, s.cq, done, 4) == 1);
    REQUIRE(done[0].id == 100);
    REQUIRE(done[0].bytes == 9);
    REQUIRE(srq->receives().free_entries() == 3);

    // The queue outlives its queue pairs and their RESET.
    QpAttributes reset;
    reset.state = QpState::kReset;
    REQUIRE(verbs.modify_qp(task, a, reset) == Errno::kOk);
    REQUIRE(srq->receives().free_entries() == 3);
    REQUIRE(verbs.destroy_qp(task, a) == Errno::kOk);
    REQUIRE(verbs.destroy_qp(task, b) == Errno::kOk);
    REQUIRE(verbs.destroy_srq(task, srq) == Errno::kOk);
  });
}
